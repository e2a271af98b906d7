// Kernels of CopyKernels (autograd/kernels/shape/common/copy.h).
#include "autograd/cuda/kernels/sized.h"
#include "autograd/cuda/kernels/strided.h"

using tape::kernels::Strided;

namespace {

constexpr int kTile = 32;  // of a transpose
constexpr int kTileRows = 8;

/// Copies n elements from one strided layout to another of the same sizes.
template <class E>
__device__ void copy_strided(int64_t n, Strided from, Strided to, const E* x, E* y) {
  for_offsets<2>(n, from.rank, from.sizes, {from.strides, to.strides},
                 [&](int64_t, const int64_t(&at)[2]) { y[at[1]] = x[at[0]]; });
}

/// y[b, c, r] = x[b, r, c] with contiguous columns c of x and r of y, in tiles that pass through shared memory, so that
/// both are accessed in their order. Blocks are tiles of 32 x 8 threads: x over c, y over r, z over b.
template <class E>
__device__ void copy_transposed(Strided from, Strided to, const E* x, E* y) {
  __shared__ E tile[kTile][kTile + 1];
  const int64_t batches = from.sizes[0], rows = from.sizes[1], cols = from.sizes[2];
  const int64_t row_tiles = (rows + kTile - 1) / kTile, col_tiles = (cols + kTile - 1) / kTile;
  const int64_t tiles = batches * row_tiles * col_tiles;
  for (int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64_t b = t / (row_tiles * col_tiles), first_row = t / col_tiles % row_tiles * kTile;
    const int64_t first_col = t % col_tiles * kTile;
    for (int i = threadIdx.y; i < kTile; i += kTileRows) {
      const int64_t r = first_row + i, c = first_col + threadIdx.x;
      if (r < rows && c < cols) tile[i][threadIdx.x] = x[b * from.strides[0] + r * from.strides[1] + c];
    }
    __syncthreads();
    for (int i = threadIdx.y; i < kTile; i += kTileRows) {
      const int64_t r = first_row + threadIdx.x, c = first_col + i;
      if (r < rows && c < cols) y[b * to.strides[0] + r + c * to.strides[2]] = tile[threadIdx.x][i];
    }
    __syncthreads();
  }
}

/// y[i] = the low bytes of `element`.
template <class E>
__device__ void fill(int64_t n, uint64_t element, E* y) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) y[i] = static_cast<E>(element);
}

/// y[r, (i + right) mod size] = x[r, i].
template <class E>
__device__ void rotate_rows(int64_t rows, int64_t size, int64_t right, const E* x, E* y) {
  for (int64_t i = thread_of_grid(); i < rows * size; i += threads_of_grid()) {
    const int64_t at = i % size;
    y[i] = x[i - at + (at < right ? at + size - right : at - right)];
  }
}

}  // namespace

TAPE_EXPORT_SIZES(copy_strided, (int64_t n, Strided from, Strided to, const T* x, T* y), (n, from, to, x, y))
TAPE_EXPORT_SIZES(copy_transposed, (Strided from, Strided to, const T* x, T* y), (from, to, x, y))
TAPE_EXPORT_SIZES(fill, (int64_t n, uint64_t element, T* y), (n, element, y))
TAPE_EXPORT_SIZES(rotate_rows, (int64_t rows, int64_t size, int64_t right, const T* x, T* y), (rows, size, right, x, y))
