#include "autograd/ops/reduce/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/product.h"
#include "autograd/ops/reduce/statistics.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/autograd/ops/rounded_f32.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Sum, SumsOverTheGivenAxes) {
  EXPECT_TRUE(tensors_equal(sum(one_to_six), scalar(21)));
  EXPECT_TRUE(tensors_equal(sum(one_to_six, 0), tensor({5, 7, 9})));
  EXPECT_TRUE(tensors_equal(sum(one_to_six, -1), tensor({6, 15})));
  EXPECT_TRUE(tensors_equal(sum(one_to_six, 1, Dims::keep), reshape(tensor({6, 15}), {2, 1})));
  EXPECT_TRUE(tensors_equal(sum(one_to_six, {0, 1}), scalar(21)));
  EXPECT_EQ(sum(one_to_six, {}, Dims::keep).shape(), Shape({1, 1}));
  EXPECT_TRUE(tensors_equal(sum(scalar(3)), scalar(3)));
}

TEST(Sum, AgreesWithLoopsForEverySetOfAxes) {
  const Tensor x = sample_normal({2, 3, 4, 5});
  for (int set = 1; set < 16; ++set) {
    std::vector<int64_t> axes, kept;
    for (int64_t axis = 0; axis < 4; ++axis) {
      if (set >> axis & 1) axes.push_back(axis);
      kept.push_back(set >> axis & 1 ? 1 : x.shape()[axis]);
    }
    const Shape shape(kept);
    Tensor expected = zeros(shape, f64);
    for (int64_t i = 0; i < x.numel(); ++i) {
      int64_t rest = i, at = 0, stride = 1;
      for (int64_t axis = 3; axis >= 0; --axis) {
        at += (shape[axis] == 1 ? 0 : rest % x.shape()[axis]) * stride;
        stride *= shape[axis];
        rest /= x.shape()[axis];
      }
      expected.mutable_data<double>()[at] += x.data<double>()[i];
    }
    EXPECT_TRUE(tensors_near(sum(x, Axes(axes), Dims::keep), expected, 1e-13)) << set;
  }
}

TEST(Sum, IsAccurateForManyValues) {
  EXPECT_EQ(sum(ones({1 << 25})).item(), 1 << 25);
  const double tenth = static_cast<double>(0.1f);
  EXPECT_NEAR(sum(full({1'000'003}, 0.1)).item(), 1'000'003 * tenth, 0.05);  // f32 has a spacing of 0.008 there
}

TEST(Sum, SumsIntegersAndCountsBools) {
  EXPECT_TRUE(tensors_equal(sum(tensor({{1, 2}, {3, 4}}, i64), 0), tensor({4, 6}, i64)));
  EXPECT_TRUE(tensors_equal(sum(tensor({1, 0, 1}, boolean)), scalar(2, i64)));
}

TEST(Sum, IsZeroForEmptyInput) {
  EXPECT_TRUE(tensors_equal(sum(zeros({0})), scalar(0)));
  EXPECT_TRUE(tensors_equal(sum(zeros({0, 3}), 0), zeros({3})));
  EXPECT_EQ(sum(zeros({0, 3}), 1).shape(), Shape({0}));
  const Tensor x = zeros({0, 3}, f64).requires_grad_();
  sum(x).backward();
  EXPECT_EQ(x.grad().shape(), Shape({0, 3}));
}

TEST(Sum, RefusesInvalidAndRepeatedAxes) {
  EXPECT_TAPE_ERROR(sum(one_to_six, 2), ErrorKind::index, "sum: axis 2 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(sum(one_to_six, {0, -2}), ErrorKind::config, "sum: axis -2 is given twice");
}

TEST(Mean, DividesByTheCount) {
  EXPECT_TRUE(tensors_near(mean(one_to_six), scalar(3.5), 1e-7));
  EXPECT_TRUE(tensors_near(mean(one_to_six, 1), tensor({2, 5}), 1e-7));
  EXPECT_TAPE_ERROR(mean(zeros({0})), ErrorKind::shape, "mean: nothing to reduce in [0]");
  EXPECT_TAPE_ERROR(mean(arange(3)), ErrorKind::dtype, "mean: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(var(arange(3)), ErrorKind::dtype, "var: needs a floating dtype, got i64");
  EXPECT_TAPE_ERROR(logsumexp(arange(3), 0), ErrorKind::dtype, "logsumexp: needs a floating dtype, got i64");
  EXPECT_EQ(mean(zeros({0, 3}), 1).shape(), Shape({0}));
}

TEST(Mean, ReturnsEqualValuesExactly) {
  for (int64_t n = 1; n < 200; ++n) EXPECT_EQ(mean(ones({n})).item(), 1) << n;
}

TEST(Extremes, AreFoundAlongTheGivenAxis) {
  const Tensor x = tensor({{3, 1, 2}, {0, 9, -4}});
  EXPECT_TRUE(tensors_equal(max(x), scalar(9)));
  EXPECT_TRUE(tensors_equal(min(x), scalar(-4)));
  EXPECT_TRUE(tensors_equal(max(x, 0), tensor({3, 9, 2})));
  EXPECT_TRUE(tensors_equal(min(x, 1, Dims::keep), reshape(tensor({1, -4}), {2, 1})));
  EXPECT_TRUE(tensors_equal(argmax(x, 1), tensor({0, 1}, i64)));
  EXPECT_TRUE(tensors_equal(argmin(x, 0), tensor({1, 0, 1}, i64)));
  EXPECT_TRUE(tensors_equal(argmax(tensor({5, 7, 7}, i64), 0), scalar(1, i64)));
  EXPECT_EQ(argmax(x, 1, Dims::keep).shape(), Shape({2, 1}));
}

TEST(Extremes, ReturnNaNIfThereIsOne) {
  EXPECT_TRUE(tensors_equal(max(tensor({1, NAN, inf})), scalar(NAN)));
  EXPECT_TRUE(tensors_equal(min(tensor({{1, NAN}, {2, 3}}), 1), tensor({NAN, 2})));
  EXPECT_TRUE(tensors_equal(max(full({3}, -inf)), scalar(-inf)));
}

TEST(Extremes, SplitTheGradientOfTies) {
  const Tensor x = tensor({{3, 3, 1}, {0, 2, 2}}, f64).requires_grad_();
  sum(max(x, 1)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{0.5, 0.5, 0}, {0, 0.5, 0.5}}, f64)));
}

TEST(Extremes, AreExactForIntegers) {
  const int64_t large = (int64_t{1} << 60) + 1;
  const Tensor x = from_vector<int64_t>({large - 1, large, -large, 1 - large}, {2, 2});
  EXPECT_EQ(max(x).to_vector<int64_t>(), std::vector<int64_t>{large});
  EXPECT_EQ(min(x, 1).to_vector<int64_t>(), (std::vector<int64_t>{large - 1, -large}));
  EXPECT_EQ(argmax(x, 0, Dims::keep).to_vector<int64_t>(), (std::vector<int64_t>{0, 0}));
  EXPECT_EQ(argmin(x, 1).to_vector<int64_t>(), (std::vector<int64_t>{0, 0}));
}

TEST(Extremes, RefuseEmptyInput) {
  EXPECT_TAPE_ERROR(max(zeros({0})), ErrorKind::shape, "max: nothing to reduce in [0]");
  EXPECT_TAPE_ERROR(min(zeros({2, 0}), 1), ErrorKind::shape, "min: nothing to reduce in [2, 0]");
  EXPECT_TAPE_ERROR(argmax(zeros({0}), 0), ErrorKind::shape, "argmax: nothing to reduce in [0]");
  EXPECT_EQ(max(zeros({0, 3}), 1).shape(), Shape({0}));
}

TEST(Extremes, AgreeWithPyTorch) {
  expect_case(reference::maximum_rows, {{3, 4}}, [](const Tensors& in) { return max(in[0], 1); });
}

TEST(Var, SupportsBothCorrections) {
  const Tensor x = tensor({1, 2, 3, 4}, f64);
  EXPECT_NEAR(var(x).item(), 5.0 / 3, 1e-15);
  EXPECT_NEAR(var(x, {}, {.correction = 0}).item(), 1.25, 1e-15);
  expect_case(reference::var_unbiased, {{2, 4}}, [](const Tensors& in) { return var(in[0], -1); });
  expect_case(reference::var_biased, {{2, 4}}, [](const Tensors& in) { return var(in[0], -1, {.correction = 0}); });
  EXPECT_TAPE_ERROR(var(tensor({1})), ErrorKind::shape, "var: 1 values for correction 1 in [1]");
}

TEST(Var, IsAccurateForLargeValues) { EXPECT_NEAR(var(tensor({10001, 10002, 10003})).item(), 1, 1e-6); }

TEST(LogSumExp, DoesNotOverflow) {
  EXPECT_NEAR(logsumexp(tensor({1000, 1000}, f64)).item(), 1000 + std::log(2), 1e-12);
  EXPECT_NEAR(logsumexp(tensor({-1000, -1001}, f64)).item(), -1000 + std::log(1 + std::exp(-1)), 1e-12);
  EXPECT_EQ(logsumexp(tensor({-inf, -inf})).item(), -inf);
  EXPECT_EQ(logsumexp(tensor({1, inf})).item(), inf);
  EXPECT_EQ(logsumexp(zeros({0})).item(), -inf);
  expect_case(reference::logsumexp_middle, {{2, 3, 2}}, [](const Tensors& in) { return logsumexp(in[0], 1); });
}

TEST(LogSumExp, GivesNoGradientToGroupsOfMinusInfinity) {
  const Tensor x = tensor({{-inf, -inf}, {0, -inf}}, f64).requires_grad_();
  sum(logsumexp(x, 1)).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({{0, 0}, {1, 0}}, f64)));
}

TEST(Reductions, ComputeHalvesInF32) {
  using Reduce = Tensor (*)(const Tensor&, const Axes&, Dims);
  for (const Reduce f :
       {Reduce(sum), Reduce(mean), Reduce(max), Reduce(min), Reduce(logsumexp), Reduce(prod), Reduce(nansum),
        Reduce([](auto& x, auto& axes, Dims dims) { return var(x, axes, {.correction = 0, .dims = dims}); })})
    for (const Axes& axes : {Axes(), Axes(-1), Axes(0), Axes{0, 2}})
      for (const Dims dims : {Dims::drop, Dims::keep})
        expect_rounded_f32({sample_distinct({2, 3, 4}) * 0.1}, [&](const Tensors& in) { return f(in[0], axes, dims); });
  for (const double p : {1.0, 2.0, 3.0, -1.5, inf, -inf})
    for (const Axes& axes : {Axes(1), Axes{0, 2}})
      expect_rounded_f32({sample_distinct({2, 3, 4})}, [&](const Tensors& in) { return norm(in[0], p, axes); });
  for (const DType dtype : {f16, bf16}) {
    const Tensor x = sample_distinct({3, 4}).to(dtype);
    EXPECT_TRUE(tensors_equal(argmax(x, 1), argmax(x.to(f32), 1)));
    EXPECT_TRUE(tensors_equal(argmin(x, 0, Dims::keep), argmin(x.to(f32), 0, Dims::keep)));
    EXPECT_TRUE(tensors_equal(norm(x, 0, 1), norm(x.to(f32), 0, 1).to(dtype)));
  }
}

TEST(AnyAll, ReduceBools) {
  const Tensor x = tensor({{1, 0}, {1, 1}}, boolean);
  EXPECT_TRUE(tensors_equal(any(x, 0), tensor({1, 1}, boolean)));
  EXPECT_TRUE(tensors_equal(all(x, 0), tensor({1, 0}, boolean)));
  EXPECT_TRUE(tensors_equal(all(x), scalar(0, boolean)));
  EXPECT_TRUE(tensors_equal(any(zeros({0}, boolean)), scalar(0, boolean)));
  EXPECT_TRUE(tensors_equal(all(zeros({0}, boolean)), scalar(1, boolean)));
  EXPECT_TAPE_ERROR(any(one_to_six), ErrorKind::dtype, "any: needs bool, got f32");
  EXPECT_TAPE_ERROR(all(one_to_six), ErrorKind::dtype, "all: needs bool, got f32");
}

}  // namespace
}  // namespace tape
