#include "autograd/kernels/product/common/gemm.h"

#include <algorithm>

#include "autograd/kernels/product/blocked_product.h"
#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/kernels/product/common/blas.h"
#include "autograd/kernels/product/skinny_gemm.h"
#include "autograd/kernels/runtime/common/missing.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/kernels/runtime/common/work.h"

namespace tape::kernels {
namespace {

/// Initializes C to the bias or 0, or leaves it, before a product is added.
template <class T>
void start(const Gemm& s, const T* bias, T* c) {
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      T& to = c[i * s.ldc + j];
      to = (s.accumulate ? to : T(0)) + (bias ? bias[j] : T(0));
    }
}

/// row_sums_a for a backend that does not pack.
template <class T>
void sum_left(const Gemm& s, const T* a) {
  T* const sums = static_cast<T*>(s.row_sums_a);
  std::fill_n(sums, s.m, T(0));
  for (int64_t i = 0; i < s.k; ++i)
    for (int64_t row = 0; row < s.m; ++row) sums[row] += a[i * s.lda + row];
}

enum class GemmBackend { rounded, few_rows, blocked, blas };

// Packing B costs more than it saves if A has few rows or if there is very little to compute.
constexpr int64_t kLargeWeight = 1 << 16, kHardlyAny = 4;

/// Whether reduced precision is requested and faster than the exact product. Tiles are not used for a few rows, where
/// reading B dominates, nor below 16 K multiplications (Sapphire Rapids: 8 rows of 512 x 512 take 64 us on tiles, 53
/// exact; 24 x 24 x 24 takes 1.2 us both ways).
bool rounding_pays(const Gemm& s) {
  constexpr int64_t kRowsForTiles = 9, kWorkForTiles = 1 << 14;
  if (precision_in_use(s.precision) == MatmulPrecision::highest) return false;
  if (bf16_backend() == Bf16Backend::avx512) return true;
  const bool exact_is_unpacked = !s.transpose_a && (s.m <= kHardlyAny || (s.transpose_b && s.n * s.k >= kLargeWeight));
  return s.m * s.n * s.k >= kWorkForTiles && !(exact_is_unpacked && s.m < kRowsForTiles);
}

/// Whether the blocked product is faster than OpenBLAS, which is the better choice with 16 registers of SSE2.
bool has_fast_blocks() { return isa() != Isa::v2; }

/// Chooses the kernels by the sizes of the whole product, not of a thread's part, so that the bits do not depend on the
/// number of threads.
template <class T>
GemmBackend backend_of(const Gemm& s) {
  if (s.packed.values)
    return s.packed.kernels == RightPacking::Kernels::rounded ? GemmBackend::rounded : GemmBackend::blocked;
  if (sizeof(T) == sizeof(float) && rounding_pays(s)) return GemmBackend::rounded;
  const int64_t few = s.n * s.k >= kLargeWeight ? kMaxSkinnyRows : kHardlyAny;
  if (s.m <= few && !s.transpose_a && s.transpose_b) return GemmBackend::few_rows;
  return has_fast_blocks() && s.m > kHardlyAny ? GemmBackend::blocked : GemmBackend::blas;
}

/// A part of a product, on one thread.
template <class T>
void run_part(GemmBackend backend, const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  if constexpr (sizeof(T) == sizeof(float))
    if (backend == GemmBackend::rounded) return bf16_product(s, a, b, bias, c);
  if (backend == GemmBackend::few_rows) return few_rows<T>().product(s, a, b, bias, c);
  if (backend == GemmBackend::blocked) return blocked_product<T>().product(s, a, b, bias, c);
  if (s.row_sums_a) sum_left(s, a);
  Gemm shape = s;
  if (bias) {
    start(s, bias, c);
    shape.accumulate = true;
  }
  blas_gemm(shape, a, b, c);
}

/// Costs that decide how to split a product among threads.
struct Split {
  int64_t row_step, column_step;  // tile size of the kernels
  double packing, reading;        // cost of packing a value, or of reading one of a packed B, in multiplications
  double least;                   // number of multiplications that justify another thread
};
/// Number of columns per panel of a packed B.
template <class T>
int64_t right_panel(RightPacking::Kernels kernels) {
  return kernels == RightPacking::Kernels::rounded ? 32 : blocked_product<T>().panel;
}

template <class T>
Split split_of(const Gemm& s, GemmBackend backend) {
  const bool tiles = backend == GemmBackend::rounded && bf16_backend() != Bf16Backend::avx512;
  if (tiles) return {32, 32, 60, 4, s.packed.values ? 1e6 : 6e6};
  return {12, s.packed.values ? right_panel<T>(s.packed.kernels) : 32, 7, 4, 2.5e5};
}

/// Number of threads along the rows (the others split the columns) that minimizes the cost of the most expensive part.
/// Each thread packs the operands of its part that are not packed yet, and reads a packed B.
int64_t threads_along_rows(const Gemm& s, const Split& split, int64_t threads, bool packs_a) {
  int64_t best = 1;
  double least = 0;
  for (int64_t by_rows = 1; by_rows <= threads; ++by_rows) {
    if (threads % by_rows != 0) continue;
    const auto largest = [](int64_t length, int64_t step, int64_t parts) {
      const int64_t steps = (length + step - 1) / step, most = (steps + parts - 1) / parts;
      return static_cast<double>(most * step);
    };
    const double rows = largest(s.m, split.row_step, by_rows),
                 columns = largest(s.n, split.column_step, threads / by_rows);
    const double cost = rows * columns + (s.packed.values ? split.reading : split.packing) * columns +
                        (packs_a ? split.packing * rows : 0);
    if (by_rows == 1 || cost < least) {
      best = by_rows;
      least = cost;
    }
  }
  return best;
}

/// The bits of OpenBLAS results depend on the sizes of a part, so its parts are the same for any number of threads.
constexpr int64_t kBlasParts = 8;

/// Where a part begins, rounded to whole steps.
int64_t edge(int64_t part, int64_t parts, int64_t length, int64_t step) {
  const int64_t steps = (length + step - 1) / step;
  return std::min(length, steps * part / parts * step);
}

/// A large product in parts, one per thread.
template <class T>
void run_in_parts(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  const double work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const GemmBackend backend = backend_of<T>(s);
  const Split split = split_of<T>(s, backend);
  const int64_t parts = work < split.least             ? 1
                        : backend == GemmBackend::blas ? kBlasParts
                        : in_task()                    ? 1
                                                       : num_threads();
  if (parts == 1) return run_part(backend, s, a, b, bias, c);
  const int64_t by_rows =
                    threads_along_rows(s, split, parts, backend == GemmBackend::rounded || packs_left(s, sizeof(T))),
                by_columns = parts / by_rows;
  const auto one = [&](int64_t part) {
    const int64_t row = edge(part / by_columns, by_rows, s.m, split.row_step),
                  column = edge(part % by_columns, by_columns, s.n, split.column_step);
    Gemm piece = s;
    piece.m = edge(part / by_columns + 1, by_rows, s.m, split.row_step) - row;
    piece.n = edge(part % by_columns + 1, by_columns, s.n, split.column_step) - column;
    if (piece.m == 0 || piece.n == 0) return;
    piece.packed.column = column;
    if (s.row_sums_a) piece.row_sums_a = column == 0 ? static_cast<T*>(s.row_sums_a) + row : nullptr;
    run_part(backend, piece, s.transpose_a ? a + row : a + row * s.lda, s.transpose_b ? b + column * s.ldb : b + column,
             bias ? bias + column : nullptr, c + row * s.ldc + column);
  };
  run_tasks(parts, one);
}

template <class T>
void run(const Gemm& s, const T* a, const T* b, const T* bias, T* c) {
  if (s.row_sums_a && (s.n == 0 || s.k == 0)) sum_left(s, a);
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) return start(s, bias, c);
  run_in_parts(s, a, b, bias, c);
}

void count(const Gemm& s, int64_t products) {
  flop_counter() += 2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k * products);
}

template <class T>
void gemm_batched(const Gemm& s, const Broadcast& batch, const T* a, const T* b, T* c) {
  int64_t products = 1;
  for (int axis = 0; axis < batch.rank; ++axis) products *= batch.sizes[axis];
  count(s, products);
  const auto product = [&](int64_t i) {
    int64_t at[3] = {};
    for (int axis = batch.rank - 1; axis >= 0; --axis) {
      for (int operand = 0; operand < 3; ++operand) at[operand] += i % batch.sizes[axis] * batch.strides[operand][axis];
      i /= batch.sizes[axis];
    }
    run<T>(s, a + at[0], b + at[1], nullptr, c + at[2]);
  };
  // Below about two million multiplications a product does not keep several threads busy.
  const double work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  if (work < 2e6 && work * static_cast<double>(products) > 1e5) return run_tasks(products, product);
  for (int64_t i = 0; i < products; ++i) product(i);
}

template <class T>
void pack_all(const Gemm& s, const T* b, void* to) {
  const RightPacking::Kernels kernels = right_packing(s, sizeof(T)).kernels;
  const int64_t panel = right_panel<T>(kernels), threads = num_threads();
  run_tasks(threads, [&](int64_t part) {
    const int64_t begin = edge(part, threads, s.n, panel), end = edge(part + 1, threads, s.n, panel);
    if (begin == end) return;
    if constexpr (sizeof(T) == sizeof(float))
      if (kernels == RightPacking::Kernels::rounded) return bf16_pack(s, b, begin, end, to);
    blocked_product<T>().pack(s, b, begin, end, to);
  });
}

}  // namespace

RightPacking right_packing(const Gemm& shape, int64_t value_size) {
  RightPacking way{.level = static_cast<int>(isa())};
  const bool single = value_size == sizeof(float);
  if (!has_fast_blocks() || shape.n * shape.k == 0) return way;
  if (single && precision_in_use(shape.precision) != MatmulPrecision::highest) {
    way.kernels = RightPacking::Kernels::rounded;
    way.backend = static_cast<int>(bf16_backend());
    way.parts = parts_of(precision_in_use(shape.precision));
    way.bytes = bf16_packed_bytes(shape);
    return way;
  }
  way.kernels = RightPacking::Kernels::blocked;
  way.bytes = single ? blocked_product<float>().packed_bytes(shape) : blocked_product<double>().packed_bytes(shape);
  return way;
}
void pack_right(const Gemm& shape, const float* b, void* to) { pack_all(shape, b, to); }
void pack_right(const Gemm& shape, const double* b, void* to) { pack_all(shape, b, to); }

void gemm(const Gemm& shape, const float* a, const float* b, float* c, const float* bias) {
  count(shape, 1);
  run(shape, a, b, bias, c);
}
void gemm(const Gemm& shape, const double* a, const double* b, double* c, const double* bias) {
  count(shape, 1);
  run(shape, a, b, bias, c);
}

namespace common {
TAPE_DEFINE_TABLES(ProductKernels, products, .gemm = gemm, .gemm_batched = gemm_batched<T>)
extern const ProductKernels<Half> products_f16 = {missing, missing};
extern const ProductKernels<BFloat16> products_bf16 = {missing, missing};
}  // namespace common

}  // namespace tape::kernels
