// Layer and RMS normalization of rows that fit into the registers of the threads that share them, so that each value is
// read once; norm.cu has the kernels for all others. Rows begin at a multiple of 16 bytes and consist of whole packs.
//
// By count, for bf16 and rows of 768: 4 bytes a value forward and 6 backward, where norm.cu has 4 to 8 and 10.
#include "../lines.h"
#include "../packs.h"
#include "../random/dropout.h"
#include "norm_rows.h"

namespace {

/// What a thread holds of a row: packs blockDim.x packs apart.
template <class T>
struct RowPart {
  static constexpr int kWidth = kPackSize<T>, kPacks = NormRows::packs(sizeof(T));

  /// Calls body(first value of the pack in this part, its column) for each pack.
  template <class Body>
  __device__ static TAPE_INLINE void for_packs(int64_t cols, const Body& body) {
    TAPE_UNROLL for (int pack = 0; pack < kPacks; ++pack) {
      const int64_t column = (pack * static_cast<int64_t>(blockDim.x) + threadIdx.x) * kWidth;
      if (column < cols) body(pack * kWidth, column);
    }
  }
  /// The values of a pack in the type of sums.
  __device__ static TAPE_INLINE Pack<Compute<T>, kWidth> widened_pack(const T* from) {
    const Pack<T, kWidth> pack = load_pack<kWidth>(from);
    Pack<Compute<T>, kWidth> values;
    TAPE_UNROLL for (int j = 0; j < kWidth; ++j) values.values[j] = widened(pack.values[j]);
    return values;
  }
  /// The values of an array that is not given.
  __device__ static TAPE_INLINE Pack<Compute<T>, kWidth> filled(Compute<T> value) {
    Pack<Compute<T>, kWidth> pack;
    TAPE_UNROLL for (int j = 0; j < kWidth; ++j) pack.values[j] = value;
    return pack;
  }
};

/// The rows of an array.
template <class T>
struct Given {
  const T* x;
  __device__ TAPE_INLINE Pack<T, kPackSize<T>> operator()(int64_t i) const { return load_pack<kPackSize<T>>(x + i); }
};
/// Those of z = a + dropout(b), which are written. Draw 0 begins a block of random numbers.
template <class T>
struct Summed {
  const T *a, *b;
  Dropped<Compute<T>> dropout;
  T* z;

  __device__ TAPE_INLINE Pack<T, kPackSize<T>> operator()(int64_t i) const {
    constexpr int kWidth = kPackSize<T>;
    Pack<T, kWidth> sums = load_pack<kWidth>(a + i);
    Pack<T, kWidth> others = load_pack<kWidth>(b + i);
    drop(dropout, i, others);
    TAPE_UNROLL for (int j = 0; j < kWidth; ++j) sums.values[j] = sum_of(sums.values[j], others.values[j]);
    store_pack(z + i, sums);
    return sums;
  }
};

template <class T, bool kCentered, class Rows>
__device__ TAPE_INLINE void normalize(int64_t rows, int64_t cols, const Rows& of, const Compute<T>* weight,
                                      const Compute<T>* bias, double eps, T* y, Compute<T>* mean, Compute<T>* rstd) {
  using S = Compute<T>;
  using Part = RowPart<T>;
  for_lines(rows, [&](int64_t r) {
    S values[Part::kWidth * Part::kPacks], sum = 0, squares = 0;
    Part::for_packs(cols, [&](int at, int64_t column) {
      const Pack<T, Part::kWidth> pack = of(r * cols + column);
      TAPE_UNROLL for (int j = 0; j < Part::kWidth; ++j) sum += values[at + j] = widened(pack.values[j]);
    });
    const S mu = kCentered ? over_line(sum, Add()) / static_cast<S>(cols) : S(0);
    Part::for_packs(cols, [&](int at, int64_t) {
      TAPE_UNROLL for (int j = 0; j < Part::kWidth; ++j) {
        values[at + j] -= mu;
        squares += values[at + j] * values[at + j];
      }
    });
    const S inverse = 1 / sqrt(over_line(squares, Add()) / static_cast<S>(cols) + static_cast<S>(eps));
    if (threadIdx.x == 0) {
      if (mean) mean[r] = mu;
      rstd[r] = inverse;
    }
    Part::for_packs(cols, [&](int at, int64_t column) {
      const auto scales = weight ? load_values<Part::kWidth>(weight + column) : Part::filled(1);
      const auto shifts = bias ? load_values<Part::kWidth>(bias + column) : Part::filled(0);
      Pack<T, Part::kWidth> pack;
      TAPE_UNROLL for (int j = 0; j < Part::kWidth; ++j) pack.values[j] =
          narrowed<T>(values[at + j] * inverse * scales.values[j] + shifts.values[j]);
      store_pack(y + r * cols + column, pack);
    });
  });
}

/// sums [blocks, cols] = each column's sum over the lines of a block, of which a thread has `values`.
template <class T>
__device__ TAPE_INLINE void store_sums(int64_t cols, const Compute<T>* values, Compute<T>* sums) {
  using S = Compute<T>;
  using Part = RowPart<T>;
  TAPE_DYNAMIC_SHARED(S, of_lines);  // [blockDim.y, cols]
  __syncthreads();                   // sums before may still be read
  Part::for_packs(cols, [&](int at, int64_t column) {
    TAPE_UNROLL for (int j = 0; j < Part::kWidth; ++j) of_lines[threadIdx.y * cols + column + j] = values[at + j];
  });
  __syncthreads();
  for (int64_t column = threadIdx.y * static_cast<int64_t>(blockDim.x) + threadIdx.x; column < cols;
       column += static_cast<int64_t>(blockDim.x) * blockDim.y) {
    S sum = 0;
    for (unsigned line = 0; line < blockDim.y; ++line) sum += of_lines[line * cols + column];
    sums[column] = sum;
  }
}

/// What else is done with the gradient of the rows: nothing.
struct Kept {
  template <class Values>
  __device__ TAPE_INLINE void operator()(int64_t, const Values&) const {}
};
/// It is dropped into y, too. Draw 0 begins a block of random numbers.
template <class T>
struct AlsoDropped {
  Dropped<Compute<T>> dropout;
  T* y;

  __device__ TAPE_INLINE void operator()(int64_t i, Pack<T, kPackSize<T>> pack) const {
    drop(dropout, i, pack);
    store_pack(y + i, pack);
  }
};

/// dx = rstd (g - mean(g) - n mean(g n)), g = dy weight; without centering rstd (g - n mean(g n)); plus `added`, which
/// may be null. dx may be dy or `added`.
/// sums [blocks, 2, cols], if not null: the sums of dy n and of dy over the rows of a block.
template <class T, bool kCentered, class Also>
__device__ TAPE_INLINE void normalize_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                               const Compute<T>* mean, const Compute<T>* rstd, const T* dy,
                                               const T* added, T* dx, Compute<T>* sums, const Also& also) {
  using S = Compute<T>;
  using Part = RowPart<T>;
  constexpr int kWidth = Part::kWidth;
  S of_products[kWidth * Part::kPacks] = {}, of_gradients[kWidth * Part::kPacks] = {};
  for_lines(rows, [&](int64_t r) {
    Pack<T, kWidth> values[Part::kPacks], gradients[Part::kPacks];
    const S mu = mean ? mean[r] : S(0), inverse = rstd[r];
    S sum = 0, products = 0;
    Part::for_packs(cols, [&](int at, int64_t column) {
      values[at / kWidth] = load_pack<kWidth>(x + r * cols + column);
      gradients[at / kWidth] = load_pack<kWidth>(dy + r * cols + column);
    });
    Part::for_packs(cols, [&](int at, int64_t column) {
      const auto scales = weight ? load_values<kWidth>(weight + column) : Part::filled(1);
      TAPE_UNROLL for (int j = 0; j < kWidth; ++j) {
        const S n = (widened(values[at / kWidth].values[j]) - mu) * inverse,
                d = widened(gradients[at / kWidth].values[j]), g = d * scales.values[j];
        if (kCentered) sum += g;
        products += g * n;
        of_products[at + j] += d * n;
        of_gradients[at + j] += d;
      }
    });
    if (!dx) return;
    const S mean_g = kCentered ? over_line(sum, Add()) / static_cast<S>(cols) : S(0);
    const S mean_gn = over_line(products, Add()) / static_cast<S>(cols);
    Part::for_packs(cols, [&](int at, int64_t column) {
      const auto scales = weight ? load_values<kWidth>(weight + column) : Part::filled(1);
      const auto others = added ? Part::widened_pack(added + r * cols + column) : Part::filled(0);
      Pack<T, kWidth> pack;
      TAPE_UNROLL for (int j = 0; j < kWidth; ++j) {
        const S n = (widened(values[at / kWidth].values[j]) - mu) * inverse,
                g = widened(gradients[at / kWidth].values[j]) * scales.values[j];
        pack.values[j] = narrowed<T>((g - mean_g - n * mean_gn) * inverse + others.values[j]);
      }
      store_pack(dx + r * cols + column, pack);
      also(r * cols + column, pack);
    });
  });
  if (!sums) return;
  S* const of_block = sums + 2 * blockIdx.x * cols;
  store_sums<T>(cols, of_products, of_block);
  store_sums<T>(cols, of_gradients, of_block + cols);
}

template <class T>
__device__ void layer_norm_rows(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                const Compute<T>* bias, double eps, T* y, Compute<T>* mean, Compute<T>* rstd) {
  normalize<T, true>(rows, cols, Given<T>{x}, weight, bias, eps, y, mean, rstd);
}
template <class T>
__device__ void rms_norm_rows(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, double eps, T* y,
                              Compute<T>* rstd) {
  normalize<T, false>(rows, cols, Given<T>{x}, weight, nullptr, eps, y, nullptr, rstd);
}
template <class T>
__device__ void layer_norm_of_sum(int64_t rows, int64_t cols, const T* a, const T* b, Dropped<Compute<T>> dropout, T* z,
                                  const Compute<T>* weight, const Compute<T>* bias, double eps, T* y, Compute<T>* mean,
                                  Compute<T>* rstd) {
  normalize<T, true>(rows, cols, Summed<T>{a, b, dropout, z}, weight, bias, eps, y, mean, rstd);
}
template <class T>
__device__ void rms_norm_of_sum(int64_t rows, int64_t cols, const T* a, const T* b, Dropped<Compute<T>> dropout, T* z,
                                const Compute<T>* weight, double eps, T* y, Compute<T>* rstd) {
  normalize<T, false>(rows, cols, Summed<T>{a, b, dropout, z}, weight, nullptr, eps, y, nullptr, rstd);
}
template <class T>
__device__ void layer_norm_rows_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                         const Compute<T>* mean, const Compute<T>* rstd, const T* dy, const T* added,
                                         T* dx, Compute<T>* sums) {
  normalize_backward<T, true>(rows, cols, x, weight, mean, rstd, dy, added, dx, sums, Kept());
}
template <class T>
__device__ void rms_norm_rows_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                       const Compute<T>* rstd, const T* dy, const T* added, T* dx, Compute<T>* sums) {
  normalize_backward<T, false>(rows, cols, x, weight, nullptr, rstd, dy, added, dx, sums, Kept());
}
template <class T>
__device__ void layer_norm_of_sum_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                           const Compute<T>* mean, const Compute<T>* rstd, const T* dy, const T* added,
                                           T* dx, Compute<T>* sums, Dropped<Compute<T>> dropout, T* dropped) {
  normalize_backward<T, true>(rows, cols, x, weight, mean, rstd, dy, added, dx, sums, AlsoDropped<T>{dropout, dropped});
}
template <class T>
__device__ void rms_norm_of_sum_backward(int64_t rows, int64_t cols, const T* x, const Compute<T>* weight,
                                         const Compute<T>* rstd, const T* dy, const T* added, T* dx, Compute<T>* sums,
                                         Dropped<Compute<T>> dropout, T* dropped) {
  normalize_backward<T, false>(rows, cols, x, weight, nullptr, rstd, dy, added, dx, sums,
                               AlsoDropped<T>{dropout, dropped});
}

/// dweight and dbias [cols], either of which may be null, from the sums [parts, 2, cols] of blocks. A block of 32 x 8
/// threads computes 32 columns of both, of the norm that is the block's along y.
template <class T>
__device__ void norm_parameter_totals(int64_t parts, int64_t cols, const NormTotalsBatch<T>& of) {
  __shared__ T of_threads[8][32];
  const T* const sums = of.sums[blockIdx.y];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * 32 + threadIdx.x;
  T sum = 0;
  if (column < 2 * cols)
    for (int64_t part = threadIdx.y; part < parts; part += 8) sum += sums[2 * part * cols + column];
  of_threads[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  T* const to = column < cols ? of.dweight[blockIdx.y] : of.dbias[blockIdx.y];
  if (threadIdx.y != 0 || column >= 2 * cols || !to) return;
  for (int y = 1; y < 8; ++y) sum += of_threads[y][threadIdx.x];
  to[column % cols] = sum;
}

}  // namespace

TAPE_EXPORT_WITH_BF16(layer_norm_rows,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* bias,
                       double eps, T* y, Compute<T>* mean, Compute<T>* rstd),
                      (rows, cols, x, weight, bias, eps, y, mean, rstd))
TAPE_EXPORT_WITH_BF16(rms_norm_rows,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, double eps, T* y,
                       Compute<T>* rstd),
                      (rows, cols, x, weight, eps, y, rstd))
TAPE_EXPORT_WITH_BF16(layer_norm_of_sum,
                      (int64_t rows, int64_t cols, const T* a, const T* b, Dropped<Compute<T>> dropout, T* z,
                       const Compute<T>* weight, const Compute<T>* bias, double eps, T* y, Compute<T>* mean,
                       Compute<T>* rstd),
                      (rows, cols, a, b, dropout, z, weight, bias, eps, y, mean, rstd))
TAPE_EXPORT_WITH_BF16(rms_norm_of_sum,
                      (int64_t rows, int64_t cols, const T* a, const T* b, Dropped<Compute<T>> dropout, T* z,
                       const Compute<T>* weight, double eps, T* y, Compute<T>* rstd),
                      (rows, cols, a, b, dropout, z, weight, eps, y, rstd))
TAPE_EXPORT_WITH_BF16(layer_norm_rows_backward,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* mean,
                       const Compute<T>* rstd, const T* dy, const T* added, T* dx, Compute<T>* sums),
                      (rows, cols, x, weight, mean, rstd, dy, added, dx, sums))
TAPE_EXPORT_WITH_BF16(rms_norm_rows_backward,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* rstd,
                       const T* dy, const T* added, T* dx, Compute<T>* sums),
                      (rows, cols, x, weight, rstd, dy, added, dx, sums))
TAPE_EXPORT_WITH_BF16(layer_norm_of_sum_backward,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* mean,
                       const Compute<T>* rstd, const T* dy, const T* added, T* dx, Compute<T>* sums,
                       Dropped<Compute<T>> dropout, T* dropped),
                      (rows, cols, x, weight, mean, rstd, dy, added, dx, sums, dropout, dropped))
TAPE_EXPORT_WITH_BF16(rms_norm_of_sum_backward,
                      (int64_t rows, int64_t cols, const T* x, const Compute<T>* weight, const Compute<T>* rstd,
                       const T* dy, const T* added, T* dx, Compute<T>* sums, Dropped<Compute<T>> dropout, T* dropped),
                      (rows, cols, x, weight, rstd, dy, added, dx, sums, dropout, dropped))
TAPE_EXPORT(norm_parameter_totals, (int64_t parts, int64_t cols, NormTotalsBatch<T> of), (parts, cols, of))
