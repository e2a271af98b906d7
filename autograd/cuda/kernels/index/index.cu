// Kernels of IndexKernels (autograd/kernels/index/index.h).
#include "autograd/cuda/kernels/device.h"
#include "autograd/cuda/kernels/index/added_slices.h"

namespace {

/// keys[c] = index[c].
__device__ void slice_keys(int64_t count, const int64_t* index, uint64_t* keys) {
  for (int64_t c = thread_of_grid(); c < count; c += threads_of_grid()) keys[c] = static_cast<uint64_t>(index[c]);
}

/// keys[e] = the position of element e = [o, c, i] in [outer, size, inner].
__device__ void scatter_keys(int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                             uint64_t* keys) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid())
    keys[e] = static_cast<uint64_t>((e / inner / count * size + index[e]) * inner + e % inner);
}

/// x[o, keys[c], i] += y[o, order[c], i]: the thread of the first of several equal keys adds for all, in their order.
template <class T>
__device__ void add_slices(int64_t n, int64_t size, int64_t inner, int64_t count, const uint64_t* keys,
                           const int64_t* order, const T* y, T* x) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t o = e / inner / count, i = e % inner;
    int64_t c = e / inner % count;
    const uint64_t key = keys[c];
    if (c > 0 && keys[c - 1] == key) continue;
    T* const place = x + (o * size + static_cast<int64_t>(key)) * inner + i;
    T sum = *place;
    for (; c < count && keys[c] == key; ++c) sum += y[(o * count + order[c]) * inner + i];
    *place = sum;
  }
}

/// The same for outer = 1 and few slices, without sorting: x[k, i] += the sum of y[c, i] with index[c] = k, for 32
/// columns by a block of 32 x kParts threads, each of which looks at a part of the index.
template <class T>
__device__ void add_few_slices(int64_t size, int64_t inner, int64_t count, const int64_t* index, const T* y, T* x) {
  constexpr int kParts = AddedSlices::kParts;
  __shared__ T of_parts[kParts][32];
  const int64_t i = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
  const int64_t begin = count * threadIdx.y / kParts, end = count * (threadIdx.y + 1) / kParts;
  for (int64_t k = blockIdx.y; k < size; k += gridDim.y) {
    T sum = 0;
    for (int64_t c = begin; c < end; ++c)
      if (index[c] == k && i < inner) sum += y[c * inner + i];
    __syncthreads();  // the sums before may still be read
    of_parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || i >= inner) continue;
    for (int part = 1; part < kParts; ++part) sum += of_parts[part][threadIdx.x];
    x[k * inner + i] += sum;
  }
}

/// Some sorted slices, which begin or end with slices of a key that others have too.
struct SortedChunk {
  const uint64_t* keys;
  int64_t begin, end, count;

  __device__ SortedChunk(const uint64_t* all, int64_t chunk, int64_t slices)
      : keys(all),
        begin(chunk * AddedSlices::kChunk),
        end(min(slices, (chunk + 1) * AddedSlices::kChunk)),
        count(slices) {}
  __device__ bool continues_before() const { return begin > 0 && keys[begin - 1] == keys[begin]; }
  __device__ bool continues_after() const { return end < count && keys[end] == keys[end - 1]; }
  __device__ bool has_one_key() const { return keys[begin] == keys[end - 1]; }
};

/// The same for outer = 1 and many slices, sorted by their keys, in chunks: a key may be that of thousands. Sums of
/// keys within a chunk are added to x, others written to partial [chunks, 2, inner]: those that continue the chunk
/// before, and those that the next one continues.
template <class T>
__device__ void add_slice_chunks(int64_t n, int64_t inner, int64_t count, const uint64_t* keys, const int64_t* order,
                                 const T* y, T* x, T* partial) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t number = e / inner, i = e % inner;
    const SortedChunk chunk(keys, number, count);
    T* const of_chunk = partial + 2 * number * inner + i;
    bool first = chunk.continues_before();
    uint64_t key = keys[chunk.begin];
    T sum = 0;
    for (int64_t c = chunk.begin; c < chunk.end; ++c) {
      if (keys[c] != key) {
        if (first)
          of_chunk[0] = sum;
        else
          x[static_cast<int64_t>(key) * inner + i] += sum;
        first = false;
        key = keys[c];
        sum = 0;
      }
      sum += y[order[c] * inner + i];
    }
    if (first)
      of_chunk[0] = sum;
    else if (chunk.continues_after())
      of_chunk[inner] = sum;
    else
      x[static_cast<int64_t>(key) * inner + i] += sum;
  }
}

/// Adds what belongs to keys of several chunks to x, a thread for each chunk in which such a key begins.
template <class T>
__device__ void add_partial_slices(int64_t n, int64_t inner, int64_t count, const uint64_t* keys, const T* partial,
                                   T* x) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    int64_t number = e / inner;
    const int64_t i = e % inner;
    const SortedChunk begin(keys, number, count);
    if (!begin.continues_after() || (begin.continues_before() && begin.has_one_key())) continue;
    T sum = partial[(2 * number + 1) * inner + i];
    bool more = true;
    while (more) {
      ++number;
      const SortedChunk chunk(keys, number, count);
      sum += partial[2 * number * inner + i];
      more = chunk.has_one_key() && chunk.continues_after();
    }
    x[static_cast<int64_t>(keys[begin.end - 1]) * inner + i] += sum;
  }
}

/// y = x where the column is in the triangle, else 0.
template <class T>
__device__ void triangle(int64_t n, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y) {
  // Diagonals may lie far outside the matrix.
  const int64_t far = diagonal > cols ? cols : diagonal < -rows ? -rows : diagonal;
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t row = e / cols % rows, col = e % cols;
    const bool inside = lower ? col - row <= far : col - row >= far;
    y[e] = inside ? x[e] : T(0);
  }
}

}  // namespace

/// x[keys[e]] = expression of old = x[keys[e]] and value = y[order[e]]: the thread of the first of several equal keys
/// does all, in their order.
#define TAPE_SCATTER(name, expression)                                                            \
  namespace {                                                                                     \
  template <class T>                                                                              \
  __device__ void name(int64_t n, const uint64_t* keys, const int64_t* order, const T* y, T* x) { \
    for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {                           \
      const uint64_t key = keys[e];                                                               \
      if (e > 0 && keys[e - 1] == key) continue;                                                  \
      T old = x[key];                                                                             \
      for (int64_t at = e; at < n && keys[at] == key; ++at) {                                     \
        const T value = y[order[at]];                                                             \
        old = expression;                                                                         \
      }                                                                                           \
      x[key] = old;                                                                               \
    }                                                                                             \
  }                                                                                               \
  }                                                                                               \
  TAPE_EXPORT(name, (int64_t n, const uint64_t* keys, const int64_t* order, const T* y, T* x), (n, keys, order, y, x))
TAPE_SCATTER(scatter_add, old + value)
TAPE_SCATTER(scatter_mul, old* value)
TAPE_SCATTER(scatter_max, value > old || value != value ? value : old)
TAPE_SCATTER(scatter_min, value < old || value != value ? value : old)

TAPE_EXPORT_ONE(slice_keys, (int64_t count, const int64_t* index, uint64_t* keys), (count, index, keys))
TAPE_EXPORT_ONE(scatter_keys,
                (int64_t n, int64_t size, int64_t inner, int64_t count, const int64_t* index, uint64_t* keys),
                (n, size, inner, count, index, keys))
TAPE_EXPORT(add_slices,
            (int64_t n, int64_t size, int64_t inner, int64_t count, const uint64_t* keys, const int64_t* order,
             const T* y, T* x),
            (n, size, inner, count, keys, order, y, x))
TAPE_EXPORT(add_few_slices, (int64_t size, int64_t inner, int64_t count, const int64_t* index, const T* y, T* x),
            (size, inner, count, index, y, x))
TAPE_EXPORT(add_slice_chunks,
            (int64_t n, int64_t inner, int64_t count, const uint64_t* keys, const int64_t* order, const T* y, T* x,
             T* partial),
            (n, inner, count, keys, order, y, x, partial))
TAPE_EXPORT(add_partial_slices, (int64_t n, int64_t inner, int64_t count, const uint64_t* keys, const T* partial, T* x),
            (n, inner, count, keys, partial, x))
TAPE_EXPORT(triangle, (int64_t n, int64_t rows, int64_t cols, int64_t diagonal, bool lower, const T* x, T* y),
            (n, rows, cols, diagonal, lower, x, y))
