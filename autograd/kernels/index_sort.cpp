#include "autograd/kernels/index_sort.h"

#include <algorithm>

#include "autograd/kernels/level.h"

namespace tape::kernels {
namespace {

using namespace TAPE_LEVEL;

template <class T>
struct Entry {
  T value;
  int64_t index;
};

/// Whether a stands before b; NaN is behind every number in both orders, equal values keep the order of their indices.
template <class T>
bool before(const Entry<T>& a, const Entry<T>& b, bool descending) {
  const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
  if (a_nan != b_nan) return b_nan;
  if (!a_nan && a.value != b.value) return descending ? a.value > b.value : a.value < b.value;
  return a.index < b.index;
}

/// For every line of the middle axis: order(entries of the line), then the first k are written.
template <class T, class Order>
void for_lines(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, T* values, int64_t* index,
               const Order& order) {
  for_chunks(outer * inner, 8 * size, [&](int64_t begin, int64_t end) {
    Scratch<Entry<T>> entries(size);
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / inner, i = line % inner;
      for (int64_t s = 0; s < size; ++s) entries[s] = {x[(o * size + s) * inner + i], s};
      order(entries.data());
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
  for_lines(outer, size, inner, x, size, values, index, [&](Entry<T>* entries) {
    std::sort(entries, entries + size,
              [descending](const Entry<T>& a, const Entry<T>& b) { return before(a, b, descending); });
  });
}

template <class T>
void topk_axis(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, bool largest, T* values,
               int64_t* index) {
  for_lines(outer, size, inner, x, k, values, index, [&](Entry<T>* entries) {
    std::partial_sort(entries, entries + k, entries + size,
                      [largest](const Entry<T>& a, const Entry<T>& b) { return before(a, b, largest); });
  });
}

template void sort_axis(int64_t, int64_t, int64_t, const float*, bool, float*, int64_t*);
template void sort_axis(int64_t, int64_t, int64_t, const double*, bool, double*, int64_t*);
template void topk_axis(int64_t, int64_t, int64_t, const float*, int64_t, bool, float*, int64_t*);
template void topk_axis(int64_t, int64_t, int64_t, const double*, int64_t, bool, double*, int64_t*);

}  // namespace tape::kernels
