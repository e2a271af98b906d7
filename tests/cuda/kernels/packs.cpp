// Kernels that take packs of 16 bytes, beside the CPU: all numbers of values that are left over, and arrays that begin
// within a pack.
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

class CudaPacks : public testing::TestWithParam<DType> {
 protected:
  CudaPacks() { manual_seed(1); }

  /// Calls check(here, there, other_here, other_there) with values of n elements on the CPU and the device, that begin
  /// `skipped` values after an aligned address.
  template <class Check>
  void for_sizes(const Check& check) {
    const DType dtype = GetParam();
    for (int schedule = 0; schedule < 3; ++schedule) {
      device.set_schedule(schedule);
      for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 4099})
        for (const int64_t skipped : {0, 1, 2, 5}) {
          SCOPED_TRACE(testing::Message() << n << " values of " << to_string(dtype) << " after " << skipped);
          const Tensor a = cast(randn({n + skipped}), dtype), b = cast(randn({n + skipped}), dtype);
          const auto part = [&](const Tensor& x) { return slice(x, 0, {.start = skipped}); };
          check(part(a), part(a.to(cuda)), part(b), part(b.to(cuda)));
        }
    }
  }

  cuda_device::TestDevice device;
};
INSTANTIATE_TEST_SUITE_P(DTypes, CudaPacks, testing::Values(bf16, f32, f64),
                         [](const auto& name) { return std::string(to_string(name.param)); });

TEST_P(CudaPacks, GiveTheCpusValues) {
  for_sizes([](const Tensor& a, const Tensor& a_there, const Tensor& b, const Tensor& b_there) {
    EXPECT_TRUE(tensors_equal((a_there + b_there).to(cpu), a + b));
    EXPECT_TRUE(tensors_equal((a_there * b_there).to(cpu), a * b));
    EXPECT_TRUE(tensors_equal((a_there * 2).to(cpu), a * 2));
    EXPECT_TRUE(tensors_equal(relu(a_there).to(cpu), relu(a)));
    EXPECT_TRUE(tensors_equal(gt(a_there, b_there).to(cpu), gt(a, b)));
    Tensor sum = a.clone(), sum_there = a_there.clone();
    sum_there.add_(b_there);
    EXPECT_TRUE(tensors_equal(sum_there.to(cpu), sum.add_(b)));
  });
}

TEST_P(CudaPacks, GiveTheCpusGradients) {
  for_sizes([](const Tensor& a, const Tensor& a_there, const Tensor& b, const Tensor& b_there) {
    const Tensor x = a.detach().requires_grad_(), x_there = a_there.detach().requires_grad_();
    relu(x).backward({.gradient = b});
    relu(x_there).backward({.gradient = b_there});
    EXPECT_TRUE(tensors_equal(x_there.grad().to(cpu), x.grad()));
  });
}

/// Rows that an operand repeats, of whole packs and not, which begin anywhere within one.
TEST_P(CudaPacks, RepeatRows) {
  for (int schedule = 0; schedule < 3; ++schedule) {
    device.set_schedule(schedule);
    for (const int64_t width : {1, 3, 4, 8, 16, 24, 31, 32})
      for (const int64_t skipped : {0, 1}) {
        SCOPED_TRACE(testing::Message() << "rows of " << width << " after " << skipped);
        const Tensor a = cast(randn({5 + skipped, 3, width}), GetParam()),
                     b = cast(randn({3 + skipped, width}), GetParam());
        const auto sums = [&](const Tensor& x, const Tensor& y) {
          const Tensor rows = slice(x, 0, {.start = skipped}), repeated = slice(y, 0, {.start = skipped});
          return Tensors{(rows + repeated).to(cpu), (repeated * rows).to(cpu), (rows - select(repeated, 0, 1)).to(cpu),
                         gt(rows, repeated).to(cpu), (rows * slice(repeated, 1, {.end = 1})).to(cpu)};
        };
        const Tensors here = sums(a, b), there = sums(a.to(cuda), b.to(cuda));
        for (size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(tensors_equal(there[i], here[i])) << i;
      }
  }
}

/// Copies and choices of rows in units of several elements.
TEST_P(CudaPacks, CopyRows) {
  for (const int64_t width : {1, 2, 3, 4, 6, 8, 12})
    for (const int64_t skipped : {0, 1, 2}) {
      SCOPED_TRACE(testing::Message() << "rows of " << width << " after " << skipped);
      const Tensor a = cast(randn({7, 4, width + 4}), GetParam());
      const Tensor index = tensor({2, 0, 0, 3}, i64);
      const auto copies = [&](const Tensor& x) {
        const Tensor part = slice(x, 0, {.start = skipped});
        return Tensors{slice(part, 2, {.start = skipped, .end = skipped + width}).to(cpu),
                       transpose(slice(part, 2, {.end = width}), 0, 1).to(cpu),
                       index_select(part, 0, index.to(x.device())).to(cpu),
                       index_select(reshape(part, {part.size(0) * 4, width + 4}), 0, index.to(x.device())).to(cpu)};
      };
      const Tensors here = copies(a), there = copies(a.to(cuda));
      for (size_t i = 0; i < here.size(); ++i) EXPECT_TRUE(tensors_equal(there[i], here[i])) << i;
    }
}

TEST_P(CudaPacks, DropTheElementsThatTheCpuDrops) {
  for_sizes([](const Tensor& a, const Tensor& a_there, const Tensor&, const Tensor&) {
    for (const uint64_t counter : {0U, 4U, 6U, 7U})
      EXPECT_TRUE(tensors_equal(seeded_dropout(a_there, 0.5, 9, counter).to(cpu), seeded_dropout(a, 0.5, 9, counter)))
          << "from element " << counter;
  });
}

}  // namespace
}  // namespace tape
