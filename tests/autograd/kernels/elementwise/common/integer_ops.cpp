#include "autograd/kernels/elementwise/common/integer_ops.h"

#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();

std::vector<int64_t> run(Binary op, const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  Broadcast plan;
  plan.rank = 1;
  plan.sizes[0] = static_cast<int64_t>(a.size());
  plan.strides[0][0] = 1;
  plan.strides[1][0] = b.size() == 1 ? 0 : 1;
  std::vector<int64_t> out(a.size());
  integer_ops().binary(op, plan, a.data(), b.data(), out.data());
  return out;
}

TEST(IntegerOps, BinaryFunctionsMatchCpp) {
  const std::vector<int64_t> a = {7, -7, kMost, kLeast, 0}, b = {2, 2, 1, -1, 5};
  EXPECT_EQ(run(Binary::add, a, b), (std::vector<int64_t>{9, -5, kLeast, kMost, 5}));
  EXPECT_EQ(run(Binary::sub, a, b), (std::vector<int64_t>{5, -9, kMost - 1, kLeast + 1, -5}));
  EXPECT_EQ(run(Binary::mul, a, b), (std::vector<int64_t>{14, -14, kMost, kLeast, 0}));
  EXPECT_EQ(run(Binary::div, a, b), (std::vector<int64_t>{3, -3, kMost, kLeast, 0}));
  EXPECT_EQ(run(Binary::maximum, a, {1}), (std::vector<int64_t>{7, 1, kMost, 1, 1}));
  EXPECT_EQ(run(Binary::minimum, a, {1}), (std::vector<int64_t>{1, -7, 1, kLeast, 0}));
}

TEST(IntegerOps, PowersWrapAndNegativeExponentsGiveIntegers) {
  EXPECT_EQ(run(Binary::pow, {3, -2, 10, 0, 7, 3}, {4, 3, 0, 0, 1, 41}),
            (std::vector<int64_t>{81, -8, 1, 1, 7, -420491770248316829}));
  EXPECT_EQ(run(Binary::pow, {1, -1, -1, 2, 0}, {-5, -5, -4, -1, -1}), (std::vector<int64_t>{1, -1, 1, 0, 0}));
}

TEST(IntegerOps, CompareLargeValuesAndBroadcast) {
  Broadcast plan;
  plan.rank = 2;
  plan.sizes[0] = 50000;
  plan.sizes[1] = 3;
  plan.strides[0][0] = 1;  // a is [50000, 1], b is [3]
  plan.strides[1][1] = 1;
  std::vector<int64_t> a(50000), b = {10, 20, 30};
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<int64_t>(i % 40);
  Flags out(150000);
  for (int code = 0; code <= static_cast<int>(Compare::ge); ++code) {
    integer_ops().compare(static_cast<Compare>(code), plan, a.data(), b.data(), out.data());
    for (int64_t i = 0; i < 150000; ++i) {
      const int64_t x = a[static_cast<size_t>(i / 3)], y = b[static_cast<size_t>(i % 3)];
      const bool wanted[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
      ASSERT_EQ(out[i], wanted[code]) << code << " at " << i;
    }
  }
}

}  // namespace
}  // namespace tape::kernels::testing
