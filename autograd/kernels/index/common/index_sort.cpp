#include "autograd/kernels/index/common/index_sort.h"

#include <algorithm>

#include "autograd/kernels/runtime/level.h"

namespace tape::kernels {
namespace {

using namespace TAPE_LEVEL;

template <class T>
struct Entry {
  T value;
  int64_t index;
};

/// Whether a precedes b. NaN sorts after every number; equal values are ordered by index.
template <class T>
bool before(const Entry<T>& a, const Entry<T>& b, bool descending) {
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return descending ? a_nan : b_nan;
  if (!a_nan && a.value != b.value) return descending ? a.value > b.value : a.value < b.value;
  return a.index < b.index;
}

constexpr int64_t kTogether = 32;

/// Whether none of kTogether consecutive values is better than `last`; false if one is NaN.
template <class T>
bool all_behind(const T* x, T last, bool largest) {
  int others = 0;
  if (largest)
    for (int64_t i = 0; i < kTogether; ++i) others |= !(x[i] <= last);
  else
    for (int64_t i = 0; i < kTogether; ++i) others |= !(x[i] >= last);
  return others == 0;
}

/// For every line of the middle axis, calls first(x of the line, buffer of `room` entries) and writes the first k of
/// the entries.
template <class T, class First>
void for_lines(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t room, int64_t k, T* values,
               int64_t* index, const First& first) {
  for_chunks(outer * inner, 8 * size, [&](int64_t begin, int64_t end) {
    Scratch<Entry<T>> entries(room);
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / inner, i = line % inner;
      first(x + o * size * inner + i, entries.data());
      for (int64_t s = 0; s < k; ++s) {
        values[(o * k + s) * inner + i] = entries[s].value;
        index[(o * k + s) * inner + i] = entries[s].index;
      }
    }
  });
}
}  // namespace

template <class T>
void sort_axis(int64_t outer, int64_t size, int64_t inner, const T* x, bool descending, T* values, int64_t* index) {
  for_lines(outer, size, inner, x, size, size, values, index, [&](const T* line, Entry<T>* entries) {
    for (int64_t s = 0; s < size; ++s) entries[s] = {line[s * inner], s};
    std::sort(entries, entries + size,
              [descending](const Entry<T>& a, const Entry<T>& b) { return before(a, b, descending); });
  });
}

template <class T>
void topk_axis(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, bool largest, T* values,
               int64_t* index) {
  if (k == 0) return;
  for_lines(outer, size, inner, x, k, k, values, index, [&](const T* line, Entry<T>* best) {
    const auto order = [largest](const Entry<T>& a, const Entry<T>& b) { return before(a, b, largest); };
    for (int64_t s = 0; s < k; ++s) best[s] = {line[s * inner], s};
    std::make_heap(best, best + k, order);  // the worst of the best k is at the front
    // Among equal values the first is kept, so most values of a long line need one comparison, several at once.
    for (int64_t s = k, end = k; s < size; s = end) {
      end = std::min(s + kTogether, size);
      if (inner == 1 && end - s == kTogether && all_behind(line + s, best[0].value, largest)) continue;
      for (; s < end; ++s) {
        const T value = line[s * inner], last = best[0].value;
        if (largest ? value <= last : value >= last) continue;
        const Entry<T> entry{value, s};
        if (!order(entry, best[0])) continue;  // one of the two is NaN
        std::pop_heap(best, best + k, order);
        best[k - 1] = entry;
        std::push_heap(best, best + k, order);
      }
    }
    std::sort_heap(best, best + k, order);
  });
}

template <class T>
void median_axis(int64_t outer, int64_t size, int64_t inner, const T* x, T* values, int64_t* index) {
  for_chunks(outer * inner, 4 * size, [&](int64_t begin, int64_t end) {
    Scratch<T> sorted(size);
    for (int64_t line = begin; line < end; ++line) {
      const T* from = x + line / inner * size * inner + line % inner;
      int64_t at = 0;
      for (int64_t s = 0; s < size; ++s) sorted[s] = from[s * inner];
      while (at < size && sorted[at] == sorted[at]) ++at;
      if (at == size) {
        T* middle = sorted.data() + (size - 1) / 2;
        std::nth_element(sorted.data(), middle, sorted.data() + size);
        for (at = 0; from[at * inner] != *middle;) ++at;
      }
      values[line] = from[at * inner];
      index[line] = at;
    }
  });
}

template void sort_axis(int64_t, int64_t, int64_t, const float*, bool, float*, int64_t*);
template void sort_axis(int64_t, int64_t, int64_t, const double*, bool, double*, int64_t*);
template void topk_axis(int64_t, int64_t, int64_t, const float*, int64_t, bool, float*, int64_t*);
template void topk_axis(int64_t, int64_t, int64_t, const double*, int64_t, bool, double*, int64_t*);
template void median_axis(int64_t, int64_t, int64_t, const float*, float*, int64_t*);
template void median_axis(int64_t, int64_t, int64_t, const double*, double*, int64_t*);

}  // namespace tape::kernels
