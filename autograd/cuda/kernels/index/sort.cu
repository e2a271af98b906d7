// Kernels of the sorting entries of IndexKernels (autograd/kernels/index/index.h). Elements are numbered line by line,
// e = (o inner + i) size + s, and sorted by value and then by line (radix_sort.cu).
#include "autograd/cuda/kernels/index/ordered_key.h"

namespace {

/// Position in [outer, size, inner] of element s of a line.
__device__ int64_t place_of(int64_t line, int64_t s, int64_t size, int64_t inner) {
  return (line / inner * size + s) * inner + line % inner;
}

template <class T>
__device__ void sort_keys(int64_t n, int64_t size, int64_t inner, bool descending, const T* x, uint64_t* keys) {
  const uint64_t largest = key_of(T(NAN));
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const uint64_t key = key_of(x[place_of(e / size, e % size, size, inner)]);
    keys[e] = descending ? largest - key : key;
  }
}

__device__ void line_keys(int64_t n, int64_t size, const int64_t* order, uint64_t* keys) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) keys[e] = static_cast<uint64_t>(order[e] / size);
}

/// The first k sorted elements of each line: values and index [outer, k, inner].
template <class T>
__device__ void sorted_values(int64_t n, int64_t size, int64_t inner, int64_t k, const int64_t* order, const T* x,
                              T* values, int64_t* index) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t line = e / k, s = e % k, from = order[line * size + s] - line * size;
    const int64_t to = place_of(line, s, k, inner);
    values[to] = x[place_of(line, from, size, inner)];
    index[to] = from;
  }
}

/// The lower median of each sorted line and the index of its first occurrence, or those of its first NaN.
template <class T>
__device__ void sorted_median(int64_t lines, int64_t size, int64_t inner, const int64_t* order, const T* x, T* values,
                              int64_t* index) {
  for (int64_t line = thread_of_grid(); line < lines; line += threads_of_grid()) {
    const auto from = [&](int64_t s) { return order[line * size + s] - line * size; };
    const auto value = [&](int64_t s) { return x[place_of(line, from(s), size, inner)]; };
    const T last = value(size - 1), middle = last != last ? last : value((size - 1) / 2);
    // The first of the equal values that end at `high`, which are in the order of their indices.
    int64_t low = 0, high = last != last ? size - 1 : (size - 1) / 2;
    while (low < high) {
      const int64_t between = (low + high) / 2;
      const T found = value(between);
      if (found == middle || found != found)
        high = between;
      else
        low = between + 1;
    }
    values[line] = value(low);
    index[line] = from(low);
  }
}

}  // namespace

TAPE_EXPORT(sort_keys, (int64_t n, int64_t size, int64_t inner, bool descending, const T* x, uint64_t* keys),
            (n, size, inner, descending, x, keys))
TAPE_EXPORT_ONE(line_keys, (int64_t n, int64_t size, const int64_t* order, uint64_t* keys), (n, size, order, keys))
TAPE_EXPORT(sorted_values,
            (int64_t n, int64_t size, int64_t inner, int64_t k, const int64_t* order, const T* x, T* values,
             int64_t* index),
            (n, size, inner, k, order, x, values, index))
TAPE_EXPORT(sorted_median,
            (int64_t lines, int64_t size, int64_t inner, const int64_t* order, const T* x, T* values, int64_t* index),
            (lines, size, inner, order, x, values, index))
