#include "autograd/kernels/index/index.h"

#include <algorithm>

#include "autograd/cuda/kernels/index/added_slices.h"
#include "autograd/cuda/launch/radix_sort.h"

namespace tape::kernels::cuda {
namespace {

constinit const Kernel kSliceKeys("slice_keys"), kScatterKeys("scatter_keys");
constinit const FloatKernels kAddSlices = TAPE_FLOAT_KERNELS(add_slices), kScatterAdd = TAPE_FLOAT_KERNELS(scatter_add);
constinit const FloatKernels kAddFewSlices = TAPE_FLOAT_KERNELS(add_few_slices);
constinit const FloatKernels kAddSliceChunks = TAPE_FLOAT_KERNELS(add_slice_chunks);
constinit const FloatKernels kAddPartialSlices = TAPE_FLOAT_KERNELS(add_partial_slices);
constinit const FloatKernels kScatterMul = TAPE_FLOAT_KERNELS(scatter_mul), kTriangle = TAPE_FLOAT_KERNELS(triangle);
constinit const FloatKernels kSortKeys = TAPE_FLOAT_KERNELS(sort_keys);
constinit const FloatKernels kSortedValues = TAPE_FLOAT_KERNELS(sorted_values);
constinit const FloatKernels kSortedMedian = TAPE_FLOAT_KERNELS(sorted_median);
constinit const Kernel kLineKeys("line_keys");
constinit const FloatKernels kScatterMax = TAPE_FLOAT_KERNELS(scatter_max),
                             kScatterMin = TAPE_FLOAT_KERNELS(scatter_min);

template <class T>
void add_at(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  constexpr int64_t kFewSlices = 2048, kFewLooks = 1 << 20;  // of a thread, and of all for a column
  const int64_t n = outer * count * inner;
  if (size == 0 || n == 0) return;
  if (outer == 1 && count <= kFewSlices && count * size <= kFewLooks) {
    const cuda_device::Grid blocks{static_cast<uint32_t>(quotient_up(inner, 32)),
                                   static_cast<uint32_t>(std::min<int64_t>(size, 65535))};
    return kAddFewSlices.of<T>()(blocks, {32, AddedSlices::kParts}, size, inner, count, index, y, x);
  }
  RadixSort lines(count);
  launch_elements(kSliceKeys, count, count, index, lines.keys());
  if (count > 1) lines.sort(static_cast<uint64_t>(size));
  const uint64_t* keys = lines.keys();
  if (outer == 1) {
    const int64_t chunks = quotient_up(count, AddedSlices::kChunk), threads = chunks * inner;
    const DeviceScratch<T> partial(2 * threads);
    launch_elements(kAddSliceChunks.of<T>(), threads, threads, inner, count, keys, lines.order(), y, x, partial.get());
    return launch_elements(kAddPartialSlices.of<T>(), threads, threads, inner, count, keys, partial.constant(), x);
  }
  launch_elements(kAddSlices.of<T>(), n, n, size, inner, count, keys, lines.order(), y, x);
}

/// Runs a kernel that combines x with y, sorted by their places in x.
template <class T>
void scatter(const FloatKernels& kernels, int64_t outer, int64_t size, int64_t inner, T* x, int64_t count,
             const int64_t* index, const T* y) {
  const int64_t n = outer * count * inner;
  if (size == 0 || n == 0) return;
  RadixSort places(n);
  launch_elements(kScatterKeys, n, n, size, inner, count, index, places.keys());
  if (count > 1) places.sort(static_cast<uint64_t>(outer * size * inner));  // else no place is repeated
  const uint64_t* keys = places.keys();
  launch_elements(kernels.of<T>(), n, n, keys, places.order(), y, x);
}

template <class T>
void scatter_add(int64_t outer, int64_t size, int64_t inner, const T* x, T* sums, int64_t count, const int64_t* index,
                 const T* y) {
  const int64_t bytes = outer * size * inner * static_cast<int64_t>(sizeof(T));
  if (x != sums && bytes > 0) cuda_device::copy_on_device(sums, x, bytes);
  scatter(kScatterAdd, outer, size, inner, sums, count, index, y);
}

template <class T>
void scatter_mul(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y) {
  scatter(kScatterMul, outer, size, inner, x, count, index, y);
}

template <class T>
void scatter_extremum(int64_t outer, int64_t size, int64_t inner, T* x, int64_t count, const int64_t* index, const T* y,
                      bool largest) {
  scatter(largest ? kScatterMax : kScatterMin, outer, size, inner, x, count, index, y);
}

template <class T>
void triangle(int64_t batch, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y) {
  const int64_t n = batch * rows * cols;
  launch_elements(kTriangle.of<T>(), n, n, rows, cols, diagonal, lower, x, y);
}

/// Sorts the elements of each line, numbered line by line, stably.
template <class T>
void sort_lines(int64_t outer, int64_t size, int64_t inner, const T* x, bool descending, RadixSort& elements) {
  const int64_t n = outer * size * inner;
  launch_elements(kSortKeys.of<T>(), n, n, size, inner, descending, x, elements.keys());
  elements.sort(sizeof(T) == sizeof(float) ? uint64_t{1} << 32 : 0);
  launch_elements(kLineKeys, n, n, size, elements.order(), elements.keys());
  elements.sort(static_cast<uint64_t>(outer * inner));
}

template <class T>
void topk(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, bool largest, T* values, int64_t* index) {
  const int64_t n = outer * k * inner;
  if (n == 0) return;
  RadixSort elements(outer * size * inner);
  sort_lines(outer, size, inner, x, largest, elements);
  launch_elements(kSortedValues.of<T>(), n, n, size, inner, k, elements.order(), x, values, index);
}

template <class T>
void sort(int64_t outer, int64_t size, int64_t inner, const T* x, bool descending, T* values, int64_t* index) {
  topk(outer, size, inner, x, size, descending, values, index);
}

template <class T>
void median(int64_t outer, int64_t size, int64_t inner, const T* x, T* values, int64_t* index) {
  const int64_t lines = outer * inner;
  if (lines == 0) return;
  RadixSort elements(size * lines);
  sort_lines(outer, size, inner, x, false, elements);
  launch_elements(kSortedMedian.of<T>(), lines, lines, size, inner, elements.order(), x, values, index);
}

}  // namespace

TAPE_DEFINE_TABLES(IndexKernels, index, .add_at = add_at<T>, .scatter_add = scatter_add<T>,
                   .scatter_mul = scatter_mul<T>, .scatter_extremum = scatter_extremum<T>, .sort = sort<T>,
                   .topk = topk<T>, .median = median<T>, .triangle = triangle<T>)

}  // namespace tape::kernels::cuda
