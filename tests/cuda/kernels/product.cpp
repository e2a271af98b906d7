#include "autograd/kernels/product/common/gemm.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaProduct : public KernelTest<T> {
 protected:
  /// Compares c and, if asked for, the row sums of op(A), with leading dimensions larger than the rows.
  void check(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b, bool accumulate, bool with_bias,
             bool row_sums) {
    SCOPED_TRACE(fmt::format("{} x {} x {}, transposed {} {}", m, n, k, transpose_a, transpose_b));
    Gemm shape{.transpose_a = transpose_a,
               .transpose_b = transpose_b,
               .m = m,
               .n = n,
               .k = k,
               .lda = (transpose_a ? m : k) + 2,
               .ldb = (transpose_b ? k : n) + 1,
               .ldc = n + 3,
               .accumulate = accumulate};
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
    expect_close(actual, expected, "product", 4);
  }
};
TYPED_TEST_SUITE(CudaProduct, BothTypes);

TYPED_TEST(CudaProduct, IsThatOfTheCpu) {
  for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{
           {1, 1, 1}, {3, 5, 0}, {0, 4, 3}, {4, 0, 3}, {16, 16, 16}, {17, 31, 33}, {40, 3, 70}, {1, 50, 20}})
    for (const bool transpose_a : {false, true})
      for (const bool transpose_b : {false, true}) {
        this->check(m, n, k, transpose_a, transpose_b, false, true, false);
        this->check(m, n, k, transpose_a, transpose_b, true, false, transpose_a);
      }
}

TYPED_TEST(CudaProduct, IsThatOfTheCpuForABatch) {
  using T = TypeParam;
  const Gemm shape{.m = 5, .n = 6, .k = 7, .lda = 7, .ldb = 6, .ldc = 6};
  // 2 x 3 products; b is repeated along the first axis.
  const Broadcast batch{.rank = 2, .sizes = {2, 3}, .strides = {{105, 35}, {0, 42}, {90, 30}}};
  const Array<T> a = random_values<T>(210, 1), b = random_values<T>(126, 2);
  Array<T> expected(180);
  products<T>().gemm_batched(shape, batch, a.data(), b.data(), expected.data());
  const auto actual = this->on_device([&] {
    const DeviceArray<T> a_there(a), b_there(b), c(expected.size());
    products<T>(kOnDevice).gemm_batched(shape, batch, a_there.constant(), b_there.constant(), c.get());
    return c.values();
  });
  expect_close(actual, expected, "batched product", 4);
}

}  // namespace
}  // namespace tape::kernels
