#include <algorithm>
#include <limits>

#include "autograd/cuda/blas_product.h"
#include "autograd/cuda/kernels/product/product_shape.h"
#include "autograd/cuda/kernels/product/skinny_shape.h"
#include "autograd/cuda/launch/broadcast.h"
#include "autograd/cuda/launch/lines.h"
#include "autograd/kernels/elementwise/common/cast.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/runtime/common/work.h"

namespace tape::kernels::cuda {
namespace {

using cuda_device::BlasCompute, cuda_device::BlasProduct, cuda_device::BlasType;

/// Kernels for operands of 16 bits.
struct HalfKernels {
  Kernel f16, bf16, bf16_to_f32;

  /// Of operands of T and results of C.
  template <class T, class C>
  const Kernel& of() const {
    return std::is_same_v<T, Half> ? f16 : std::is_same_v<C, float> ? bf16_to_f32 : bf16;
  }
};
#define TAPE_HALF_KERNELS(name) \
  { Kernel(#name "_f16"), Kernel(#name "_bf16"), Kernel(#name "_bf16_f32") }

/// A kernel for each type of operands.
struct ProductKernel {
  FloatKernels floats;
  HalfKernels halves;

  template <class T, class C>
  const Kernel& of() const {
    if constexpr (std::is_floating_point_v<T>)
      return floats.of<T>();
    else
      return halves.of<T, C>();
  }
};
constinit const Kernel kHalfRowSumsF16("half_row_sums_f16"), kHalfRowSumsBf16("half_row_sums_bf16");
constinit const ProductKernel kSmallProduct{TAPE_FLOAT_KERNELS(product), TAPE_HALF_KERNELS(product)},
    kProductTiles{TAPE_FLOAT_KERNELS(product_tiles), TAPE_HALF_KERNELS(product_tiles)};

/// Products of few rows by the transpose of a matrix, as in decoding, which take as long as the matrix is read.
struct SkinnyKernels {
  int64_t most_rows, columns_per_warp;
  FloatKernels floats;
  Kernel f16, bf16;

  template <class T>
  const Kernel& of() const {
    if constexpr (std::is_floating_point_v<T>)
      return floats.of<T>();
    else
      return std::is_same_v<T, Half> ? f16 : bf16;
  }
};
#define TAPE_SKINNY_KERNELS(rows, columns)                                                            \
  {                                                                                                   \
    rows, columns, TAPE_FLOAT_KERNELS(skinny_product_##rows), Kernel("skinny_product_" #rows "_f16"), \
        Kernel("skinny_product_" #rows "_bf16")                                                       \
  }
constinit const SkinnyKernels kSkinnyProducts[] = {TAPE_SKINNY_KERNELS(1, 1), TAPE_SKINNY_KERNELS(2, 1),
                                                   TAPE_SKINNY_KERNELS(4, 2), TAPE_SKINNY_KERNELS(8, 4)};
/// Products of more rows than this have more arithmetic than the kernels above are for.
constexpr int64_t kMostSkinnyRows = 8;

template <class T>
constexpr BlasType kBlasType = std::is_same_v<T, double>     ? BlasType::f64
                               : std::is_same_v<T, Half>     ? BlasType::f16
                               : std::is_same_v<T, BFloat16> ? BlasType::bf16
                                                             : BlasType::f32;

/// f32 operands are rounded to TF32 for less than the highest precision. Halves are read as they are.
template <class T>
BlasCompute compute_of(MatmulPrecision precision) {
  if (std::is_same_v<T, double>) return BlasCompute::f64;
  return std::is_same_v<T, float> && precision != MatmulPrecision::highest ? BlasCompute::tf32 : BlasCompute::f32;
}

/// Row-major c = op(a) op(b) is column-major c^T = op(b)^T op(a)^T: the operands change places, and the bias of a
/// column is that of a row.
template <class T, class C>
BlasProduct column_major(const Gemm& s) {
  return {.type = kBlasType<T>,
          .result = kBlasType<C>,
          .compute = compute_of<T>(s.precision),
          .transpose_a = s.transpose_b,
          .transpose_b = s.transpose_a,
          .accumulate = s.accumulate,
          .rows = s.n,
          .columns = s.m,
          .inner = s.k,
          .lda = s.ldb,
          .ldb = s.lda,
          .ldd = s.ldc};
}

void count_flops(const Gemm& s, int64_t products) {
  flop_counter() += 2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k * products);
}

/// All products of a batch by the library's own kernel.
template <class T, class C>
void multiply_by_kernel(const Gemm& s, const Broadcast& plan, const T* a, const T* b, const C* bias, C* c) {
  constexpr int64_t kTile = 16, kLargeTile = 64;
  const ProductShape shape{s.m, s.n, s.k, s.lda, s.ldb, s.ldc, count(plan), s.transpose_a, s.transpose_b, s.accumulate};
  const bool large = std::min(s.m, s.n) >= kLargeTile;
  const int64_t tile = large ? kLargeTile : kTile;
  const auto blocks = [](int64_t n) { return static_cast<uint32_t>(std::min<int64_t>(n, 65535)); };
  const cuda_device::Grid grid{static_cast<uint32_t>(quotient_up(s.n, tile)), blocks(quotient_up(s.m, tile)),
                               blocks(shape.batch)};
  if (large)
    kProductTiles.of<T, C>()(grid, {kThreads}, shape, plan, a, b, bias, c);
  else
    kSmallProduct.of<T, C>()(grid, {kTile, kTile}, shape, plan, a, b, bias, c);
}

/// Products of at most one batch axis: by cuBLASLt if it can.
template <class T, class C>
void multiply(const Gemm& s, const Broadcast& plan, const T* a, const T* b, const C* bias, C* c) {
  BlasProduct product = column_major<T, C>(s);
  if (plan.rank == 1 && plan.sizes[0] != 1) {
    product.batch = plan.sizes[0];
    product.stride_a = plan.strides[1][0];
    product.stride_b = plan.strides[0][0];
    product.stride_d = plan.strides[2][0];
  }
  if (s.k == 0 || !cuda_device::multiply(product, {.a = b, .b = a, .bias = bias, .d = c}))
    multiply_by_kernel(s, plan, a, b, bias, c);
}

/// Removes the last axes of a batch along which b repeats and the rows of a and c continue: they are more rows.
Broadcast take_rows_from_batch(Gemm& s, Broadcast plan) {
  while (plan.rank > 0 && !s.transpose_a) {
    const int last = plan.rank - 1;
    const int64_t rows = s.m * plan.sizes[last];
    if (plan.strides[1][last] != 0 || plan.strides[0][last] != s.m * s.lda || plan.strides[2][last] != s.m * s.ldc ||
        rows > std::numeric_limits<int32_t>::max())
      break;
    s.m = rows;
    plan.rank = last;
  }
  return plan;
}

/// A batch of several axes: one call for each element of all axes except the longest.
template <class T>
void multiply_batches(const Gemm& s, const Broadcast& plan, int longest, const T* a, const T* b, T* c) {
  Broadcast one{.rank = 1, .sizes = {plan.sizes[longest]}};
  for (int operand = 0; operand < 3; ++operand) one.strides[operand][0] = plan.strides[operand][longest];
  const int64_t calls = count(plan) / plan.sizes[longest];
  for (int64_t call = 0; call < calls; ++call) {
    int64_t offsets[3] = {}, rest = call;
    for (int axis = plan.rank - 1; axis >= 0; --axis) {
      if (axis == longest) continue;
      for (int operand = 0; operand < 3; ++operand)
        offsets[operand] += rest % plan.sizes[axis] * plan.strides[operand][axis];
      rest /= plan.sizes[axis];
    }
    multiply<T, T>(s, one, a + offsets[0], b + offsets[1], nullptr, c + offsets[2]);
  }
}

/// The same for halves, in parts that are summed in f32.
template <class T, class C>
void sum_half_rows(const Gemm& s, const T* a, C* sums) {
  constexpr int64_t kRows = 128;
  const int64_t parts = quotient_up(s.k, kRows), n = parts * s.m;
  const DeviceScratch<float> partial(n), total(std::is_same_v<C, float> ? 0 : s.m);
  launch_elements(std::is_same_v<T, Half> ? kHalfRowSumsF16 : kHalfRowSumsBf16, n, n, s.k, s.m, s.lda, kRows, a,
                  partial.get());
  if constexpr (std::is_same_v<C, float>) {
    sum_of_rows(parts, s.m, s.m, partial.constant(), sums);
  } else {
    sum_of_rows(parts, s.m, s.m, partial.constant(), total.get());
    casts.cast(Element::f32, std::is_same_v<C, Half> ? Element::f16 : Element::bf16, s.m, total.constant(), sums);
  }
}

/// The sums of the rows of op(A), which is transposed: its rows are the columns of A.
template <class T, class C>
void sum_rows(const Gemm& s, const T* a) {
  C* const sums = static_cast<C*>(s.row_sums_a);
  if constexpr (std::is_floating_point_v<T>)
    sum_of_rows(s.k, s.m, s.lda, a, sums);
  else
    sum_half_rows(s, a, sums);
}

/// A product with the sums of rows by one call of cuBLASLt. The sums may be those of the values that it rounds operands
/// to, which is right where the precision allows it.
template <class T, class C>
bool multiply_and_sum(const Gemm& s, const T* a, const T* b, C* c) {
  const bool exact = std::is_same_v<T, double> || (std::is_same_v<T, float> && s.precision == MatmulPrecision::highest);
  if (exact || s.k == 0) return false;
  return cuda_device::multiply(column_major<T, C>(s),
                               {.a = b, .b = a, .bias = nullptr, .d = c, .sums_of_b = s.row_sums_a});
}

bool is_skinny(const Gemm& s) {
  return !s.transpose_a && s.transpose_b && s.m > 0 && s.m <= kMostSkinnyRows && s.n > 0 && s.k > 0;
}
template <class T>
void multiply_skinny(const Gemm& s, const T* x, const T* addend, const GemmsOfOneA<T>& of) {
  constexpr int64_t kWarpsPerBlock = 4, kValues = 16 / sizeof(T);
  const auto is_aligned = [](const T* rows, int64_t ld) {
    return ld % kValues == 0 && reinterpret_cast<uintptr_t>(rows) % 16 == 0;
  };
  const SkinnyKernels& kernel = *std::find_if(std::begin(kSkinnyProducts), std::end(kSkinnyProducts),
                                              [&](auto& k) { return s.m <= k.most_rows; });
  const SkinnyShape shape{.m = s.m,
                          .n = s.n,
                          .k = s.k,
                          .ldx = s.lda,
                          .ldweight = s.ldb,
                          .ldy = s.ldc,
                          .aligned = is_aligned(x, s.lda) && std::all_of(of.b, of.b + of.count, [&](const T* weight) {
                                       return is_aligned(weight, s.ldb);
                                     })};
  const SkinnyOperands<T> operands{.weight = of.b[0],
                                   .weight1 = of.b[1],
                                   .weight2 = of.b[2],
                                   .bias = of.bias[0],
                                   .bias1 = of.bias[1],
                                   .bias2 = of.bias[2],
                                   .y = of.c[0],
                                   .y1 = of.c[1],
                                   .y2 = of.c[2]};
  const int64_t blocks = quotient_up(s.n, kWarpsPerBlock * kernel.columns_per_warp);
  kernel.of<T>()({static_cast<uint32_t>(blocks), static_cast<uint32_t>(of.count)},
                 {static_cast<uint32_t>(32 * kWarpsPerBlock)}, shape, x, addend, operands);
}

template <class T, class C = T>
void gemm(const Gemm& shape, const T* a, const T* b, C* c, const C* bias) {
  count_flops(shape, 1);
  if constexpr (std::is_same_v<T, C>)
    if (is_skinny(shape))
      return multiply_skinny<T>(shape, a, shape.accumulate ? c : nullptr, {.b = {b}, .bias = {bias}, .c = {c}});
  const bool empty = shape.m == 0 || shape.n == 0;
  if (shape.row_sums_a && !empty && !bias && multiply_and_sum(shape, a, b, c)) return;
  if (!empty) multiply<T, C>(shape, {}, a, b, bias, c);
  if (shape.row_sums_a) sum_rows<T, C>(shape, a);
}

template <class T>
void gemm_add(const Gemm& shape, const T* a, const T* b, const T* bias, const T* addend, T* c) {
  count_flops(shape, 1);
  if (is_skinny(shape)) return multiply_skinny<T>(shape, a, addend, {.b = {b}, .bias = {bias}, .c = {c}});
  if (shape.m == 0 || shape.n == 0) return;
  Gemm s = shape;
  s.accumulate = true;
  const BlasProduct product = column_major<T, T>(s);
  if (s.k > 0 && cuda_device::multiply(product, {.a = b, .b = a, .bias = bias, .d = c, .c = addend})) return;
  cuda_device::copy_on_device(c, addend, s.m * s.ldc * static_cast<int64_t>(sizeof(T)));
  multiply_by_kernel<T, T>(s, {}, a, b, bias, c);
}

/// The distance in elements that all arrays have from the one before, if it is the same.
template <class T>
std::optional<int64_t> distance_of(T* const* arrays, int count) {
  const auto bytes = [&](int i) {
    return static_cast<int64_t>(reinterpret_cast<intptr_t>(arrays[i + 1]) - reinterpret_cast<intptr_t>(arrays[i]));
  };
  for (int i = 1; i + 1 < count; ++i)
    if (bytes(i) != bytes(0)) return {};
  return bytes(0) / static_cast<int64_t>(sizeof(T));
}

/// A batch of cuBLASLt has the same distance between its matrices.
template <class T>
bool gemm_each(const Gemm& s, const T* a, const GemmsOfOneA<T>& of) {
  if (is_skinny(s)) {
    count_flops(s, of.count);
    multiply_skinny<T>(s, a, nullptr, of);
    return true;
  }
  const auto b = distance_of(of.b, of.count), bias = distance_of(of.bias, of.count), c = distance_of(of.c, of.count);
  if (s.m == 0 || s.n == 0 || s.k == 0 || !b || !bias || !c) return false;
  if (*b < 0 || *bias < 0 || *c < 0) return false;
  BlasProduct product = column_major<T, T>(s);
  product.batch = of.count;
  product.stride_a = *b;
  product.stride_d = *c;
  product.stride_bias = *bias;
  if (!cuda_device::multiply(product, {.a = of.b[0], .b = a, .bias = of.bias[0], .d = of.c[0]})) return false;
  count_flops(s, of.count);
  return true;
}

void gemm_to_sums(const Gemm& shape, const BFloat16* a, const BFloat16* b, float* c) {
  gemm<BFloat16, float>(shape, a, b, c, nullptr);
}

template <class T>
void gemm_batched(const Gemm& shape, const Broadcast& batch, const T* a, const T* b, T* c) {
  constexpr int64_t kMostCalls = 64;  // more small ones take longer than one launch of a slower kernel
  if (shape.m == 0 || shape.n == 0 || count(batch) == 0) return;
  count_flops(shape, count(batch));
  Gemm s = shape;
  const Broadcast plan = take_rows_from_batch(s, batch);
  if (plan.rank < 2) return multiply<T, T>(s, plan, a, b, nullptr, c);
  const auto longest = static_cast<int>(std::max_element(plan.sizes, plan.sizes + plan.rank) - plan.sizes);
  if (cuda_device::blas_unavailable() || count(plan) / plan.sizes[longest] > kMostCalls)
    multiply_by_kernel<T, T>(s, plan, a, b, nullptr, c);
  else
    multiply_batches(s, plan, longest, a, b, c);
}

}  // namespace

TAPE_DEFINE_TABLES(ProductKernels, products, .gemm = gemm<T>, .gemm_batched = gemm_batched<T>, .gemm_add = gemm_add<T>,
                   .gemm_each = gemm_each<T>)

extern const ProductKernels<Half> products_f16 = products_table<Half>;
extern const ProductKernels<BFloat16> products_bf16 = {.gemm = gemm<BFloat16>,
                                                       .gemm_batched = gemm_batched<BFloat16>,
                                                       .gemm_to_sums = gemm_to_sums,
                                                       .gemm_add = gemm_add<BFloat16>,
                                                       .gemm_each = gemm_each<BFloat16>};

}  // namespace tape::kernels::cuda
