#include "autograd/kernels/product/common/gemm.h"

#include <array>
#include <tuple>

#include <fmt/format.h>

#include "autograd/cuda/blas.h"
#include "autograd/kernels/runtime/common/work.h"
#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

/// A product of matrices whose leading dimensions are larger than their rows.
Gemm with_long_rows(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, bool accumulate) {
  return {.transpose_a = transpose_a,
          .transpose_b = transpose_b,
          .m = m,
          .n = n,
          .k = k,
          .lda = (transpose_a ? m : k) + 2,
          .ldb = (transpose_b ? k : n) + 1,
          .ldc = n + 3,
          .accumulate = accumulate};
}

constexpr bool kBothWays[] = {false, true};

/// A type of values, with and without cuBLASLt.
template <class Value, bool blas>
struct ProductCase {
  using T = Value;
  static constexpr bool kBlas = blas;
};

template <class C>
class CudaProduct : public KernelTest<typename C::T> {
 protected:
  using T = typename C::T;
  CudaProduct() : KernelTest<T>({.blas = C::kBlas}) {}

  /// Compares c and, if asked for, the row sums of op(A), with leading dimensions larger than the rows.
  void check(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, bool accumulate, bool with_bias,
             bool row_sums) {
    check(with_long_rows(m, n, k, transpose_a, transpose_b, accumulate), with_bias, row_sums);
  }
  /// The same for the transpose of b and matrices without gaps, so that rows may begin at multiples of 16 bytes.
  void check_rows(int64_t m, int64_t n, int64_t k, bool accumulate) {
    Gemm shape = linear_gemm(m, n, k, MatmulPrecision::highest);
    shape.accumulate = accumulate;
    check(shape, !accumulate, false);
  }
  void check(Gemm shape, bool with_bias, bool row_sums) {
    const auto [transpose_a, transpose_b, m, n, k] =
        std::tuple(shape.transpose_a, shape.transpose_b, shape.m, shape.n, shape.k);
    SCOPED_TRACE(fmt::format("{} x {} x {}, transposed {} {}", m, n, k, transpose_a, transpose_b));
    const Array<T> a = random_values<T>((transpose_a ? k : m) * shape.lda, 1),
                   b = random_values<T>((transpose_b ? n : k) * shape.ldb, 2), bias = random_values<T>(n, 3),
                   start = random_values<T>(m * shape.ldc, 4);
    Array<T> expected = start, sums(static_cast<size_t>(m));
    if (row_sums) shape.row_sums_a = sums.data();
    products<T>().gemm(shape, a.data(), b.data(), expected.data(), with_bias ? bias.data() : nullptr);
    const auto actual = this->on_device([&] {
      const DeviceArray<T> a_there(a), b_there(b), bias_there(bias), c(start), sums_there(sums.size());
      Gemm there = shape;
      there.row_sums_a = row_sums ? sums_there.get() : nullptr;
      products<T>(kOnDevice).gemm(there, a_there.constant(), b_there.constant(), c.get(),
                                  with_bias ? bias_there.constant() : nullptr);
      if (row_sums) expect_close(sums_there.values(), sums, "row sums", 4);
      return c.values();
    });
    // Sums of k products of values up to 2.
    expect_close(actual, expected, "product", 4 + static_cast<double>(k) / 16);
  }

  /// Compares products of a batch of 5 x 7 by 7 x 6, whose strides the plan has in matrices.
  void check_batch(const char* what, Broadcast batch, bool transpose_a = false) {
    SCOPED_TRACE(what);
    constexpr int64_t kMatrices = 648, kSizes[] = {35, 42, 30};
    for (int operand = 0; operand < 3; ++operand)
      for (int64_t& stride : batch.strides[operand]) stride *= kSizes[operand];
    const Gemm shape{
        .transpose_a = transpose_a, .m = 5, .n = 6, .k = 7, .lda = transpose_a ? 5 : 7, .ldb = 6, .ldc = 6};
    const Array<T> a = random_values<T>(kMatrices * kSizes[0], 1), b = random_values<T>(kMatrices * kSizes[1], 2),
                   start(static_cast<size_t>(kMatrices * kSizes[2]));
    Array<T> expected = start;
    products<T>().gemm_batched(shape, batch, a.data(), b.data(), expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> a_there(a), b_there(b), c(start);
      products<T>(kOnDevice).gemm_batched(shape, batch, a_there.constant(), b_there.constant(), c.get());
      return c.values();
    });
    expect_close(actual, expected, "batched product", 4);
  }

  /// Calls of cuBLASLt for such a batch, per run.
  int64_t calls_for_batch(const Broadcast& batch, bool transpose_a = false) {
    const int64_t before = this->device.products();
    check_batch("calls", batch, transpose_a);
    return (this->device.products() - before) / 3;  // schedules
  }
};
using FloatCases = testing::Types<ProductCase<float, true>, ProductCase<float, false>, ProductCase<double, true>,
                                  ProductCase<double, false>>;
TYPED_TEST_SUITE(CudaProduct, FloatCases);

TYPED_TEST(CudaProduct, IsThatOfTheCpu) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {3, 5, 0}, {0, 4, 3}, {4, 0, 3}, {16, 16, 16}, {17, 31, 33}, {40, 3, 70}, {1, 50, 20}})
    for (const bool transpose_a : kBothWays)
      for (const bool transpose_b : kBothWays) {
        this->check(m, n, k, transpose_a, transpose_b, false, true, false);
        this->check(m, n, k, transpose_a, transpose_b, true, false, transpose_a);
      }
}

TYPED_TEST(CudaProduct, IsThatOfTheCpuForLargeMatrices) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{64, 64, 16}, {65, 130, 37}, {100, 64, 5}})
    for (const bool transpose_a : kBothWays)
      for (const bool transpose_b : kBothWays)
        this->check(m, n, k, transpose_a, transpose_b, transpose_a, transpose_b, false);
}

TYPED_TEST(CudaProduct, IsThatOfTheCpuForFewRows) {
  for (int64_t m = 1; m <= 9; ++m)
    for (const auto& [n, k] : std::vector<std::array<int64_t, 2>>{{1, 1}, {5, 3}, {4, 8}, {33, 128}, {18, 1160}})
      for (const bool accumulate : kBothWays) this->check_rows(m, n, k, accumulate);
}

/// cuBLASLt has those of more rows.
TYPED_TEST(CudaProduct, MakesOneLaunchForFewRows) {
  const bool blas = TypeParam::kBlas && !cuda_device::blas_unavailable();
  for (const int64_t m : {1, 3, 8, 9}) {
    const int64_t launches = this->device.launches(), products = this->device.products();
    this->check_rows(m, 10, 40, false);
    EXPECT_EQ(this->device.launches() - launches, m <= 8 || !blas ? 3 : 0) << "in three schedules";
    EXPECT_EQ(this->device.products() - products, m <= 8 || !blas ? 0 : 3);
  }
}

TYPED_TEST(CudaProduct, MayNeedAWorkspace) {
  for (const bool transpose : kBothWays) this->check(3, 4, 600, transpose, transpose, true, true, false);
}

TYPED_TEST(CudaProduct, IsThatOfTheCpuForABatch) {
  this->check_batch("one product", {});
  this->check_batch("one axis", {.rank = 1, .sizes = {6}, .strides = {{1}, {1}, {1}}});
  this->check_batch("every other matrix", {.rank = 1, .sizes = {6}, .strides = {{2}, {3}, {2}}});
  this->check_batch("a repeats", {.rank = 1, .sizes = {6}, .strides = {{0}, {1}, {1}}});
  this->check_batch("b repeats", {.rank = 1, .sizes = {6}, .strides = {{1}, {0}, {1}}});
  this->check_batch("b repeats along the first axis",
                    {.rank = 2, .sizes = {2, 3}, .strides = {{3, 1}, {0, 1}, {3, 1}}});
  this->check_batch("b repeats along the last axis", {.rank = 2, .sizes = {2, 3}, .strides = {{3, 1}, {1, 0}, {3, 1}}});
  this->check_batch("three axes", {.rank = 3, .sizes = {2, 4, 3}, .strides = {{3, 0, 1}, {0, 3, 1}, {12, 3, 1}}});
  this->check_batch("many calls", {.rank = 3, .sizes = {8, 9, 9}, .strides = {{0, 9, 1}, {9, 0, 1}, {81, 9, 1}}});
}

TYPED_TEST(CudaProduct, MakesOneCallPerStrideOfABatch) {
  const bool blas = TypeParam::kBlas && !cuda_device::blas_unavailable();
  const Broadcast strided{.rank = 1, .sizes = {6}, .strides = {{1}, {1}, {1}}},
      rows{.rank = 2, .sizes = {2, 3}, .strides = {{3, 1}, {1, 0}, {3, 1}}},
      first{.rank = 2, .sizes = {2, 3}, .strides = {{3, 1}, {0, 1}, {3, 1}}};
  EXPECT_EQ(this->calls_for_batch(strided), blas ? 1 : 0);
  EXPECT_EQ(this->calls_for_batch(rows), blas ? 1 : 0);
  EXPECT_EQ(this->calls_for_batch(rows, true), blas ? 2 : 0);
  EXPECT_EQ(this->calls_for_batch(first), blas ? 2 : 0);
}

TEST(CudaFlops, AreCountedAsOnTheCpu) {
  const TestDevice device;
  const Gemm shape{.m = 5, .n = 6, .k = 7, .lda = 7, .ldb = 6, .ldc = 6};
  const Broadcast batch{.rank = 1, .sizes = {3}, .strides = {{35}, {42}, {30}}};
  const DeviceArray<float> a(random_values<float>(105, 1)), b(random_values<float>(126, 2)), c(90);
  const double before = flop_counter();
  products<float>(kOnDevice).gemm(shape, a.constant(), b.constant(), c.get(), nullptr);
  products<float>(kOnDevice).gemm_batched(shape, batch, a.constant(), b.constant(), c.get());
  EXPECT_EQ(flop_counter() - before, 4 * 2 * 5 * 6 * 7);
}

/// Halves as f32 values, exactly, and the other way around with rounding.
template <class T>
Array<float> widened(const Array<T>& values) {
  return Array<float>(values.begin(), values.end());
}
template <class T>
Array<T> rounded(const Array<float>& values) {
  Array<T> halves;
  for (const float value : values) halves.push_back(T(value));
  return halves;
}

template <class C>
class CudaHalfProduct : public KernelTest<float> {
 protected:
  using T = typename C::T;
  CudaHalfProduct() : KernelTest<float>({.blas = C::kBlas}) {}

  /// A result must be the f32 product's, rounded once, within what the order of the sums may change.
  static void expect_rounded(const Array<T>& device, const Array<float>& product, int64_t k) {
    ASSERT_EQ(device.size(), product.size());
    constexpr double kUnit = std::is_same_v<T, Half> ? 0x1p-11 : 0x1p-8;
    const double order = cuda_device::test_tolerance(0x1p-22 * static_cast<double>(k + 1) + 0x1p-24);
    for (size_t i = 0; i < product.size(); ++i) {
      const double size = std::abs(static_cast<double>(product[i]));
      const double bound = kUnit * size + order;
      ASSERT_LE(std::abs(static_cast<double>(static_cast<float>(device[i])) - static_cast<double>(product[i])), bound)
          << "value " << i;
    }
  }

  void check(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, bool accumulate, bool with_bias) {
    check(with_long_rows(m, n, k, transpose_a, transpose_b, accumulate), with_bias);
  }
  void check(Gemm shape, bool with_bias) {
    const auto [transpose_a, transpose_b, m, n, k] =
        std::tuple(shape.transpose_a, shape.transpose_b, shape.m, shape.n, shape.k);
    SCOPED_TRACE(fmt::format("{} x {} x {}, transposed {} {}", m, n, k, transpose_a, transpose_b));
    const auto a = rounded<T>(random_values<float>((transpose_a ? k : m) * shape.lda, 1)),
               b = rounded<T>(random_values<float>((transpose_b ? n : k) * shape.ldb, 2)),
               bias = rounded<T>(random_values<float>(n, 3)),
               start = rounded<T>(random_values<float>(m * shape.ldc, 4));
    Array<float> expected = widened(start);
    Array<float> sums(static_cast<size_t>(m));
    if (transpose_a) shape.row_sums_a = sums.data();
    products<float>().gemm(shape, widened(a).data(), widened(b).data(), expected.data(),
                           with_bias ? widened(bias).data() : nullptr);
    const auto actual = this->on_device([&] {
      const DeviceArray<T> a_there(a), b_there(b), bias_there(bias), c(start), sums_there(sums.size());
      Gemm there = shape;
      there.row_sums_a = transpose_a ? sums_there.get() : nullptr;
      products<T>(kOnDevice).gemm(there, a_there.constant(), b_there.constant(), c.get(),
                                  with_bias ? bias_there.constant() : nullptr);
      if (transpose_a) expect_rounded(sums_there.values(), sums, 2 * k);
      return c.values();
    });
    expect_rounded(actual, expected, 4 * k);
  }
};
using HalfCases = testing::Types<ProductCase<Half, true>, ProductCase<Half, false>, ProductCase<BFloat16, true>,
                                 ProductCase<BFloat16, false>>;
TYPED_TEST_SUITE(CudaHalfProduct, HalfCases);

TYPED_TEST(CudaHalfProduct, IsTheF32ProductRoundedOnce) {
  for (const auto& [m, n, k] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 5, 0}, {0, 4, 3}, {16, 16, 16}, {17, 31, 33}, {5, 6, 2000}})
    for (const bool transpose_a : kBothWays)
      for (const bool transpose_b : kBothWays) {
        this->check(m, n, k, transpose_a, transpose_b, false, true);
        this->check(m, n, k, transpose_a, transpose_b, true, false);
      }
}

TYPED_TEST(CudaHalfProduct, IsTheF32ProductRoundedOnceForFewRows) {
  for (int64_t m = 1; m <= 9; ++m)
    for (const auto& [n, k] : std::vector<std::array<int64_t, 2>>{{1, 1}, {5, 3}, {4, 8}, {33, 256}, {18, 1160}}) {
      this->check(linear_gemm(m, n, k, MatmulPrecision::highest), true);
      Gemm sum = linear_gemm(m, n, k, MatmulPrecision::highest);
      sum.accumulate = true;
      this->check(sum, false);
    }
}

TYPED_TEST(CudaHalfProduct, IsTheF32ProductRoundedOnceForLargeMatrices) {
  for (const bool transpose_a : kBothWays)
    for (const bool transpose_b : kBothWays)
      this->check(66, 70, 40, transpose_a, transpose_b, transpose_a, transpose_b);
}

TYPED_TEST(CudaHalfProduct, IsThatOfEachMatrixOfABatch) {
  using Value = typename TypeParam::T;
  const Gemm shape{.m = 5, .n = 6, .k = 7, .lda = 7, .ldb = 6, .ldc = 6};
  const Broadcast batch{.rank = 2, .sizes = {2, 3}, .strides = {{105, 35}, {0, 42}, {90, 30}}};
  const auto a = rounded<Value>(random_values<float>(210, 1)), b = rounded<Value>(random_values<float>(126, 2));
  Array<float> expected(180);
  products<float>().gemm_batched(shape, batch, widened(a).data(), widened(b).data(), expected.data());
  const auto actual = this->on_device([&] {
    const DeviceArray<Value> a_there(a), b_there(b), c(expected.size());
    products<Value>(kOnDevice).gemm_batched(shape, batch, a_there.constant(), b_there.constant(), c.get());
    return c.values();
  });
  this->expect_rounded(actual, expected, 28);
}

}  // namespace
}  // namespace tape::kernels
