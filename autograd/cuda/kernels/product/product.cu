// A matrix product in tiles of 16 x 16, an element of c per thread, for small matrices; product_tiles.cu has the one
// for larger ones. Both are for devices without cuBLASLt.
#include "../strided.h"
#include "product_elements.h"

using tape::kernels::Broadcast;

namespace {

constexpr int kTile = 16;

/// Elements of op(a) and op(b); 0 outside.
template <class T>
__device__ Sum<T> left_at(const ProductShape& s, const T* a, int64_t row, int64_t k) {
  if (row >= s.m || k >= s.k) return 0;
  return static_cast<Sum<T>>(s.transpose_a ? a[k * s.lda + row] : a[row * s.lda + k]);
}
template <class T>
__device__ Sum<T> right_at(const ProductShape& s, const T* b, int64_t k, int64_t column) {
  if (k >= s.k || column >= s.n) return 0;
  return static_cast<Sum<T>>(s.transpose_b ? b[column * s.ldb + k] : b[k * s.ldb + column]);
}

/// One tile of c, an element per thread: each step multiplies a tile of op(a) by one of op(b).
template <class T, class C>
__device__ void tile_of_product(const ProductShape& s, int64_t first_row, int64_t first_column, const T* a, const T* b,
                                const C* bias, C* c) {
  __shared__ Sum<T> left[kTile][kTile + 1], right[kTile][kTile + 1];
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
  const int64_t row = first_row + y, column = first_column + x;
  Sum<T> sum = 0;
  for (int64_t k = 0; k < s.k; k += kTile) {
    __syncthreads();  // the tiles before may still be read
    left[y][x] = left_at(s, a, row, k + x);
    right[y][x] = right_at(s, b, k + y, column);
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[y][i] * right[i][x];
  }
  store_element(s, row, column, sum, bias, c);
}

/// All products of a batch, whose strides the plan has.
template <class T, class C = T>
__device__ void product(ProductShape s, Broadcast plan, const T* a, const T* b, const C* bias, C* c) {
  const int64_t rows = static_cast<int64_t>(gridDim.y) * kTile;
  for (int64_t i = blockIdx.z; i < s.batch; i += gridDim.z) {
    int64_t at[3];
    offsets_of<uint64_t>(i, plan.rank, plan.sizes, {plan.strides[0], plan.strides[1], plan.strides[2]}, at);
    for (int64_t row = static_cast<int64_t>(blockIdx.y) * kTile; row < s.m; row += rows)
      tile_of_product(s, row, static_cast<int64_t>(blockIdx.x) * kTile, a + at[0], b + at[1], bias, c + at[2]);
  }
}

template <class T>
__device__ void product_to_sums(ProductShape s, Broadcast plan, const T* a, const T* b, const Sum<T>* bias, Sum<T>* c) {
  product<T, Sum<T>>(s, plan, a, b, bias, c);
}

/// sums [parts, columns] of `chunk` rows of x [rows, columns] each, whose rows are `step` values apart.
template <class T>
__device__ void half_row_sums(int64_t n, int64_t rows, int64_t columns, int64_t step, int64_t chunk, const T* x,
                              float* sums) {
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t first = e / columns * chunk, end = min(rows, first + chunk);
    float sum = 0;
    for (int64_t row = first; row < end; ++row) sum += static_cast<float>(x[row * step + e % columns]);
    sums[e] = sum;
  }
}

}  // namespace

#define TAPE_PRODUCT_PARAMETERS (ProductShape s, Broadcast plan, const T* a, const T* b, const T* bias, T* c)
TAPE_EXPORT(product, TAPE_PRODUCT_PARAMETERS, (s, plan, a, b, bias, c))
TAPE_EXPORT_TYPE(product_f16, product, tape::Half, TAPE_PRODUCT_PARAMETERS, (s, plan, a, b, bias, c))
TAPE_EXPORT_TYPE(product_bf16, product, tape::BFloat16, TAPE_PRODUCT_PARAMETERS, (s, plan, a, b, bias, c))
#define TAPE_SUM_PARAMETERS \
  (int64_t n, int64_t rows, int64_t columns, int64_t step, int64_t chunk, const T* x, float* sums)
TAPE_EXPORT_TYPE(half_row_sums_f16, half_row_sums, tape::Half, TAPE_SUM_PARAMETERS,
                 (n, rows, columns, step, chunk, x, sums))
TAPE_EXPORT_TYPE(half_row_sums_bf16, half_row_sums, tape::BFloat16, TAPE_SUM_PARAMETERS,
                 (n, rows, columns, step, chunk, x, sums))
// With results in f32.
TAPE_EXPORT_TYPE(product_bf16_f32, product_to_sums, tape::BFloat16,
                 (ProductShape s, Broadcast plan, const T* a, const T* b, const Sum<T>* bias, Sum<T>* c),
                 (s, plan, a, b, bias, c))
