#include "autograd/ops/elementwise/arithmetic.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

struct Function {
  const char* name;
  Tensor (*tensors)(const Tensor&, const Tensor&);
  double (*numbers)(double, double);
};
std::ostream& operator<<(std::ostream& stream, const Function& function) { return stream << function.name; }

class Binary : public testing::TestWithParam<Function> {};

/// f of every pair of elements under broadcasting.
Tensor by_loops(const Function& f, const Tensor& a, const Tensor& b) {
  const Shape shape = broadcast_shapes("test", a.shape(), b.shape());
  const auto in_a = broadcast_strides(a.shape(), shape), in_b = broadcast_strides(b.shape(), shape);
  Tensor y = empty(shape, f64);
  for (int64_t i = 0; i < y.numel(); ++i) {
    int64_t rest = i, at_a = 0, at_b = 0;
    for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
      at_a += rest % shape[axis] * in_a[static_cast<size_t>(axis)];
      at_b += rest % shape[axis] * in_b[static_cast<size_t>(axis)];
      rest /= shape[axis];
    }
    y.mutable_data<double>()[i] = f.numbers(a.data<double>()[at_a], b.data<double>()[at_b]);
  }
  return y;
}

TEST_P(Binary, BroadcastsItsOperands) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{}, {}},         {{3}, {}},           {{}, {2, 3}},           {{2, 3}, {3}},       {{2, 3}, {2, 1}},
      {{4, 1}, {1, 3}}, {{5, 1, 7}, {4, 1}}, {{2, 3, 4}, {2, 3, 4}}, {{1}, {2, 1, 2}},    {{3, 1, 2, 1}, {2, 1, 5}},
      {{0, 3}, {3}},    {{2, 0}, {1, 1}},    {{33, 70}, {70}},       {{33, 70}, {33, 1}}, {{2, 1, 1, 2}, {1, 3, 3, 1}}};
  for (const auto& [shape_a, shape_b] : pairs) {
    const Tensor a = sample_uniform(shape_a, 0.5, 3, 1), b = sample_uniform(shape_b, 0.5, 3, 2);
    const Tensor expected = by_loops(GetParam(), a, b);
    EXPECT_TRUE(tensors_near(GetParam().tensors(a, b), expected, 1e-14))
        << to_string(shape_a) << " and " << to_string(shape_b);
    const Tensor x = a.to(f32), y = b.to(f32);
    EXPECT_TRUE(tensors_near(GetParam().tensors(x, y).to(f64), by_loops(GetParam(), x.to(f64), y.to(f64)), 1e-6))
        << to_string(shape_a) << " and " << to_string(shape_b);
  }
}

TEST_P(Binary, RefusesShapesThatDoNotBroadcast) {
  const std::string name = GetParam().name;
  EXPECT_TAPE_ERROR(GetParam().tensors(zeros({2, 3}), zeros({4})), ErrorKind::shape,
                    name + ": shapes do not broadcast: [2, 3] and [4] (3 vs 4 on axis -1)");
  EXPECT_TAPE_ERROR(GetParam().tensors(zeros({3, 1, 2}), zeros({2, 2, 2})), ErrorKind::shape,
                    name + ": shapes do not broadcast: [3, 1, 2] and [2, 2, 2] (3 vs 2 on axis -3)");
}

INSTANTIATE_TEST_SUITE_P(
    Functions, Binary,
    testing::Values(Function{"add", add, [](double a, double b) { return a + b; }},
                    Function{"sub", sub, [](double a, double b) { return a - b; }},
                    Function{"mul", mul, [](double a, double b) { return a * b; }},
                    Function{"div", div, [](double a, double b) { return a / b; }},
                    Function{"pow", pow, [](double a, double b) { return std::pow(a, b); }},
                    Function{"maximum", maximum, [](double a, double b) { return std::max(a, b); }},
                    Function{"minimum", minimum, [](double a, double b) { return std::min(a, b); }}),
    [](const auto& function) { return std::string(function.param.name); });

TEST(Arithmetic, IntegersFollowIntegerRules) {
  const Tensor a = tensor({7, -2, 3}, i64), b = tensor({2}, i64);
  EXPECT_TRUE(tensors_equal(a + b, tensor({9, 0, 5}, i64)));
  EXPECT_TRUE(tensors_equal(a - b, tensor({5, -4, 1}, i64)));
  EXPECT_TRUE(tensors_equal(a * b, tensor({14, -4, 6}, i64)));
  EXPECT_TRUE(tensors_equal(maximum(a, b), tensor({7, 2, 3}, i64)));
  EXPECT_TRUE(tensors_equal(minimum(a, b), tensor({2, -2, 2}, i64)));
  EXPECT_TRUE(tensors_equal(a * 3 + 1, tensor({22, -5, 10}, i64)));
  EXPECT_TRUE(tensors_equal(-a, tensor({-7, 2, -3}, i64)));
  EXPECT_TRUE(tensors_equal(a / b, tensor({3.5, -1, 1.5})));
  EXPECT_TRUE(tensors_equal(pow(a, b), tensor({49, 4, 9}, i64)));
  EXPECT_TRUE(tensors_equal(a * 0.5, tensor({3.5, -1, 1.5})));
  EXPECT_TAPE_ERROR(affine(a, 0.5, 0), ErrorKind::dtype, "affine: i64 needs integers, got scale 0.5 and shift 0");
  EXPECT_TAPE_ERROR(pow(a, -1), ErrorKind::config, "pow: i64 to the negative power -1; cast to f32 first");
}

TEST(Arithmetic, IntegerScalarsAreExact) {
  const int64_t large = (int64_t{1} << 60) + 1;
  const Tensor x = from_vector<int64_t>({large});
  EXPECT_EQ((x + large).to_vector<int64_t>(), std::vector<int64_t>{2 * large});
  EXPECT_EQ((x - (large - 3)).to_vector<int64_t>(), std::vector<int64_t>{3});
  EXPECT_EQ((large - x).to_vector<int64_t>(), std::vector<int64_t>{0});
  EXPECT_EQ((x * 5u).to_vector<int64_t>(), std::vector<int64_t>{5 * large});
  EXPECT_EQ(eq(x, large).item(), 1);
  EXPECT_EQ(eq(x, large - 1).item(), 0);
  EXPECT_EQ(full({1}, large, i64).to_vector<int64_t>(), std::vector<int64_t>{large});
  EXPECT_EQ(sum(from_vector<int64_t>({large, 1})).to_vector<int64_t>(), std::vector<int64_t>{large + 1});
}

TEST(Arithmetic, AcceptsScalars) {
  const Tensor x = tensor({1, 2, 4});
  EXPECT_TRUE(tensors_equal(x + 1, tensor({2, 3, 5})));
  EXPECT_TRUE(tensors_equal(1 + x, tensor({2, 3, 5})));
  EXPECT_TRUE(tensors_equal(x - 1, tensor({0, 1, 3})));
  EXPECT_TRUE(tensors_equal(1 - x, tensor({0, -1, -3})));
  EXPECT_TRUE(tensors_equal(x * 2, tensor({2, 4, 8})));
  EXPECT_TRUE(tensors_equal(x / 2, tensor({0.5, 1, 2})));
  EXPECT_TRUE(tensors_equal(8 / x, tensor({8, 4, 2})));
  EXPECT_TRUE(tensors_equal(-x, tensor({-1, -2, -4})));
  EXPECT_TRUE(tensors_equal(affine(x, 3, -1), tensor({2, 5, 11})));
}

TEST(Arithmetic, RaisesAScalarToAPower) {
  const Tensor x = tensor({0.25, 1, 4, 9}, f64);
  EXPECT_TRUE(tensors_near(pow(x, 0.5), tensor({0.5, 1, 2, 3}, f64), 1e-15));
  EXPECT_TRUE(tensors_near(pow(x, -0.5), tensor({2, 1, 0.5, 1.0 / 3}, f64), 1e-15));
  EXPECT_TRUE(tensors_equal(pow(x, 0), ones({4}, f64)));
  EXPECT_TRUE(tensors_equal(pow(x, 1), x));
  EXPECT_TRUE(tensors_equal(pow(tensor({-2, 0, 3}, f64), 3), tensor({-8, 0, 27}, f64)));
  EXPECT_TRUE(tensors_equal(pow(tensor({-2, 0}, f64), 2), tensor({4, 0}, f64)));
  EXPECT_TRUE(
      tensors_near(pow(x, 1.3), tensor({std::pow(0.25, 1.3), 1, std::pow(4, 1.3), std::pow(9, 1.3)}, f64), 1e-14));
}

TEST(Arithmetic, PowerHasItsGradientsAtZero) {
  const Tensor x = tensor({0, 0, 0}, f64).requires_grad_(), n = tensor({0, 1, 2}, f64).requires_grad_();
  sum(pow(x, n)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({0, 1, 0}, f64)));
  EXPECT_TRUE(tensors_equal(n.grad(), tensor({0, 0, 0}, f64)));
  const Tensor z = tensor({0}, f64).requires_grad_();
  sum(pow(z, 0) + pow(z, 1) + pow(z, 2)).backward();
  EXPECT_TRUE(tensors_equal(z.grad(), tensor({1}, f64)));
}

TEST(Arithmetic, MaximumAndMinimumSplitTheGradientOfTies) {
  const Tensor a = tensor({1, 2, 3}, f64).requires_grad_(), b = tensor({3, 2, 1}, f64).requires_grad_();
  sum(maximum(a, b)).backward();
  EXPECT_TRUE(tensors_equal(a.grad(), tensor({0, 0.5, 1}, f64)));
  EXPECT_TRUE(tensors_equal(b.grad(), tensor({1, 0.5, 0}, f64)));
  Tensor(a).zero_grad(), Tensor(b).zero_grad();
  sum(minimum(a, b)).backward();
  EXPECT_TRUE(tensors_equal(a.grad(), tensor({1, 0.5, 0}, f64)));
  EXPECT_TRUE(tensors_equal(b.grad(), tensor({0, 0.5, 1}, f64)));
}

TEST(Arithmetic, MaximumAndMinimumPropagateNaN) {
  const Tensor x = tensor({NAN, 1}), y = tensor({1, NAN});
  EXPECT_TRUE(tensors_equal(maximum(x, y), tensor({NAN, NAN})));
  EXPECT_TRUE(tensors_equal(minimum(x, y), tensor({NAN, NAN})));
}

TEST(Arithmetic, DivisionByANumberIsThatByATensor) {
  for (const DType dtype : {f32, f64}) {
    const Tensor x = arange(1, 200, 1, dtype);
    for (const double number : {3.0, 49.0, 0.1, 8.0, 1e-39, 1e30})
      EXPECT_TRUE(tensors_equal(x / number, x / full({199}, number, dtype))) << number;
    EXPECT_EQ((x[48] / 49).item(), 1);
  }
  EXPECT_TRUE(tensors_equal(tensor({0, 1e-310}, f64) / 1e-310, tensor({0, 1}, f64)));
  const Tensor x = tensor({1, 2}, f64).requires_grad_();
  sum(x / 49).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({1.0 / 49, 1.0 / 49}, f64)));
}

TEST(Arithmetic, ProductsWithANumberKeepTheSignOfZero) {
  Tensor x = tensor({-0.0, 0.0});
  for (const Tensor& y : {x * 2, x / 2, x / 3, x *= 2})
    EXPECT_TRUE(std::signbit(y.to_vector<float>()[0]) && !std::signbit(y.to_vector<float>()[1]));
}

TEST(Arithmetic, DivisionByZeroIsInfiniteOrNaN) {
  EXPECT_TRUE(tensors_equal(tensor({1, -1, 0}) / tensor({0, 0, 0}), tensor({INFINITY, -INFINITY, NAN})));
}

}  // namespace
}  // namespace tape
