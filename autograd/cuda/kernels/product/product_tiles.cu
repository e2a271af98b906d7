// A matrix product in tiles of 64 x 64, 4 x 4 elements of c per thread, for matrices that fill such tiles; product.cu
// has the one for small matrices.
#include "../strided.h"
#include "product_elements.h"

using tape::kernels::Broadcast;

namespace {

constexpr int kSide = 64, kDepth = 16, kThreads = 256, kPerThread = 4;
constexpr int kRow = kSide + 4;  // of a tile in shared memory: keeps alignment to 4 values, spreads columns over banks
constexpr int kLoads = kSide * kDepth / kThreads;

/// The part of an operand that a block reads: lines of inner values, op(a)[line, k] or op(b)[k, line].
template <class T>
struct Operand {
  const T* next;        // of the values that this thread reads
  int64_t step;         // between those
  int64_t advance;      // to the same values of the next tile
  int line, line_step;  // within a tile
  int inner, inner_step;
  int lines;  // of the tile that exist

  __device__ Operand(const T* values, int64_t line_stride, int64_t inner_stride, int64_t first_line,
                     int64_t all_lines) {
    const int t = static_cast<int>(threadIdx.x);
    // Adjacent threads read adjacent values.
    const bool along_inner = inner_stride == 1;
    line = along_inner ? t / kDepth : t % kSide;
    inner = along_inner ? t % kDepth : t / kSide;
    line_step = along_inner ? kThreads / kDepth : 0;
    inner_step = along_inner ? 0 : kThreads / kSide;
    next = values + (first_line + line) * line_stride + inner * inner_stride;
    step = line_step * line_stride + inner_step * inner_stride;
    advance = kDepth * inner_stride;
    lines = static_cast<int>(all_lines - first_line < kSide ? all_lines - first_line : kSide);
  }

  /// Reads values of the next tile, of which `depth` inner ones exist; 0 outside.
  __device__ TAPE_INLINE void load(int depth, Sum<T> (&loaded)[kLoads]) {
    TAPE_UNROLL for (int i = 0; i < kLoads; ++i) {
      const bool inside = line + i * line_step < lines && inner + i * inner_step < depth;
      loaded[i] = inside ? static_cast<Sum<T>>(next[i * step]) : Sum<T>(0);
    }
    next += advance;
  }
  __device__ TAPE_INLINE void store(const Sum<T> (&loaded)[kLoads], Sum<T> (&tile)[kDepth][kRow]) const {
    TAPE_UNROLL for (int i = 0; i < kLoads; ++i) tile[inner + i * inner_step][line + i * line_step] = loaded[i];
  }
};

/// sums += the product of two tiles.
template <class S>
__device__ TAPE_INLINE void multiply_tiles(const S (&left)[kDepth][kRow], const S (&right)[kDepth][kRow], int row,
                                           int column, S (&sums)[kPerThread][kPerThread]) {
  TAPE_UNROLL for (int k = 0; k < kDepth; ++k) {
    S a[kPerThread], b[kPerThread];
    TAPE_UNROLL for (int i = 0; i < kPerThread; ++i) {
      a[i] = left[k][row + i];
      b[i] = right[k][column + i];
    }
    TAPE_UNROLL for (int i = 0; i < kPerThread; ++i) {
      TAPE_UNROLL for (int j = 0; j < kPerThread; ++j) sums[i][j] += a[i] * b[j];
    }
  }
}

/// One tile of c. The next tiles of the operands are read while these are multiplied.
template <class T, class C>
__device__ void tile_of_product(const ProductShape& s, Operand<T> a, Operand<T> b, int64_t first_row,
                                int64_t first_column, const C* bias, C* c) {
  __shared__ __align__(16) Sum<T> left[kDepth][kRow], right[kDepth][kRow];
  const int row = static_cast<int>(threadIdx.x) / (kSide / kPerThread) * kPerThread,
            column = static_cast<int>(threadIdx.x) % (kSide / kPerThread) * kPerThread;
  Sum<T> sums[kPerThread][kPerThread] = {}, next_a[kLoads], next_b[kLoads];
  const auto load = [&](int64_t rest) {
    const int depth = static_cast<int>(rest < kDepth ? rest : kDepth);
    a.load(depth, next_a);
    b.load(depth, next_b);
  };
  load(s.k);
  for (int64_t rest = s.k; rest > 0; rest -= kDepth) {
    __syncthreads();  // the tiles before may still be read
    a.store(next_a, left);
    b.store(next_b, right);
    __syncthreads();
    if (rest > kDepth) load(rest - kDepth);
    multiply_tiles(left, right, row, column, sums);
  }
  TAPE_UNROLL for (int i = 0; i < kPerThread; ++i) {
    TAPE_UNROLL for (int j = 0; j < kPerThread; ++j) {
      store_element(s, first_row + row + i, first_column + column + j, sums[i][j], bias, c);
    }
  }
}

/// All products of a batch, whose strides the plan has.
template <class T, class C = T>
__device__ void product_tiles(const ProductShape& s, const Broadcast& plan, const T* a, const T* b, const C* bias,
                              C* c) {
  const int64_t rows = static_cast<int64_t>(gridDim.y) * kSide;
  for (int64_t i = blockIdx.z; i < s.batch; i += gridDim.z) {
    int64_t at[3];
    offsets_of<uint64_t>(i, plan.rank, plan.sizes, {plan.strides[0], plan.strides[1], plan.strides[2]}, at);
    const int64_t column = static_cast<int64_t>(blockIdx.x) * kSide;
    for (int64_t row = static_cast<int64_t>(blockIdx.y) * kSide; row < s.m; row += rows) {
      const Operand<T> left(a + at[0], s.transpose_a ? 1 : s.lda, s.transpose_a ? s.lda : 1, row, s.m),
          right(b + at[1], s.transpose_b ? s.ldb : 1, s.transpose_b ? 1 : s.ldb, column, s.n);
      tile_of_product(s, left, right, row, column, bias, c + at[2]);
    }
  }
}

template <class T>
__device__ void product_tiles_to_sums(const ProductShape& s, const Broadcast& plan, const T* a, const T* b,
                                      const Sum<T>* bias, Sum<T>* c) {
  product_tiles<T, Sum<T>>(s, plan, a, b, bias, c);
}

}  // namespace

#define TAPE_PRODUCT_PARAMETERS (ProductShape s, Broadcast plan, const T* a, const T* b, const T* bias, T* c)
TAPE_EXPORT(product_tiles, TAPE_PRODUCT_PARAMETERS, (s, plan, a, b, bias, c))
TAPE_EXPORT_TYPE(product_tiles_f16, product_tiles, tape::Half, TAPE_PRODUCT_PARAMETERS, (s, plan, a, b, bias, c))
TAPE_EXPORT_TYPE(product_tiles_bf16, product_tiles, tape::BFloat16, TAPE_PRODUCT_PARAMETERS, (s, plan, a, b, bias, c))
// With results in f32.
TAPE_EXPORT_TYPE(product_tiles_bf16_f32, product_tiles_to_sums, tape::BFloat16,
                 (ProductShape s, Broadcast plan, const T* a, const T* b, const Sum<T>* bias, Sum<T>* c),
                 (s, plan, a, b, bias, c))
