#include "nn/init.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

struct Statistics {
  double mean = 0, deviation = 0, low = INFINITY, high = -INFINITY;
};

Statistics statistics(const Tensor& x) {
  const std::vector<double> values = x.detach().to(f64).to_vector<double>();
  const double n = static_cast<double>(values.size());
  Statistics s;
  for (const double v : values) s.mean += v / n, s.low = std::min(s.low, v), s.high = std::max(s.high, v);
  for (const double v : values) s.deviation += (v - s.mean) * (v - s.mean) / n;
  s.deviation = std::sqrt(s.deviation);
  return s;
}

constexpr int64_t kOut = 200, kIn = 300;  // 60000 values: the mean is within 0.02 deviations, the deviation within 2 %

void expect_normal(const Tensor& x, double mean, double deviation) {
  const Statistics s = statistics(x);
  EXPECT_NEAR(s.mean, mean, 0.02 * deviation);
  EXPECT_NEAR(s.deviation, deviation, 0.02 * deviation);
  EXPECT_GT(s.high, mean + 3.3 * deviation);  // tails that a uniform distribution does not have
  EXPECT_LT(s.low, mean - 3.3 * deviation);
}

void expect_uniform(const Tensor& x, double low, double high) {
  const Statistics s = statistics(x);
  const double width = high - low;
  EXPECT_GE(s.low, low);
  EXPECT_LE(s.high, high);
  EXPECT_NEAR(s.low, low, 0.001 * width);
  EXPECT_NEAR(s.high, high, 0.001 * width);
  EXPECT_NEAR(s.mean, (low + high) / 2, 0.01 * width);
  EXPECT_NEAR(s.deviation, width / std::sqrt(12.0), 0.01 * width);
}

class Init : public testing::TestWithParam<DType> {
 protected:
  Tensor weight() const { return empty({kOut, kIn}, GetParam()); }
  Generator stream{11};
};
INSTANTIATE_TEST_SUITE_P(Floating, Init, testing::Values(f32, f64),
                         [](const auto& each) { return std::string(to_string(each.param)); });

TEST_P(Init, XavierHasTheSpreadOfItsPaper) {
  const double bound = std::sqrt(6.0 / 500) * (1 + 1e-7);  // a bound rounded to f32 may be this much larger
  expect_uniform(init::xavier_uniform_(weight(), 1, stream), -bound, bound);
  expect_uniform(init::xavier_uniform_(weight(), 3, stream), -3 * bound, 3 * bound);
  expect_normal(init::xavier_normal_(weight(), 1, stream), 0, std::sqrt(2.0 / 500));
  expect_normal(init::xavier_normal_(weight(), 2, stream), 0, 2 * std::sqrt(2.0 / 500));
}

TEST_P(Init, KaimingHasTheSpreadOfItsPaper) {
  using init::Fan, init::Nonlinearity;
  const double bound = std::sqrt(6.0 / 300) * (1 + 1e-7);
  expect_uniform(init::kaiming_uniform_(weight(), {}, stream), -bound, bound);
  const double out_bound = std::sqrt(3.0 / 200) * (1 + 1e-7);
  expect_uniform(init::kaiming_uniform_(weight(), {.fan = Fan::out, .nonlinearity = Nonlinearity::linear}, stream),
                 -out_bound, out_bound);
  expect_normal(init::kaiming_normal_(weight(), {}, stream), 0, std::sqrt(2.0 / 300));
  expect_normal(init::kaiming_normal_(
                    weight(), {.fan = Fan::out, .nonlinearity = Nonlinearity::leaky_relu, .negative_slope = 2}, stream),
                0, std::sqrt(2.0 / 5 / 200));
}

TEST_P(Init, UniformAndNormalHaveTheRequestedRangeAndMoments) {
  expect_uniform(init::uniform_(weight(), -1, 3, stream), -1, 3);
  expect_uniform(init::uniform_(weight()), 0, 1);
  expect_normal(init::normal_(weight(), 5, 0.25, stream), 5, 0.25);
  expect_normal(init::normal_(weight()), 0, 1);
  EXPECT_TRUE(tensors_equal(init::normal_(empty({2}, GetParam()), 3, 0, stream), full({2}, 3, GetParam())));
}

TEST_P(Init, ConstantsFillEveryElement) {
  const Tensor x = empty({2, 3}, GetParam());
  EXPECT_TRUE(tensors_equal(init::constant_(x, 2.5), full({2, 3}, 2.5, GetParam())));
  EXPECT_TRUE(tensors_equal(init::ones_(x), ones({2, 3}, GetParam())));
  EXPECT_TRUE(tensors_equal(init::zeros_(x), zeros({2, 3}, GetParam())));
}

double density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }
double below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// Compares with the moments of a normal distribution truncated at a and b deviations.
void expect_truncated(const Tensor& x, const TruncatedNormalOptions& options) {
  const double a = (options.low - options.mean) / options.stddev, b = (options.high - options.mean) / options.stddev;
  const double mass = a > 0 ? below(-a) - below(-b) : below(b) - below(a);
  const double shift = (density(a) - density(b)) / mass;
  const double variance = 1 + (a * density(a) - b * density(b)) / mass - shift * shift;
  const Statistics s = statistics(x);
  const double deviation = options.stddev * std::sqrt(variance);
  EXPECT_NEAR(s.mean, options.mean + options.stddev * shift, 0.02 * deviation);
  EXPECT_NEAR(s.deviation, deviation, 0.02 * deviation);
  EXPECT_GE(s.low, options.low);
  EXPECT_LE(s.high, options.high);
}

TEST_P(Init, TruncatedNormalHasTheMomentsOfItsInterval) {
  for (const TruncatedNormalOptions& options : {TruncatedNormalOptions{},
                                                {.stddev = 0.25},
                                                {.mean = 1, .stddev = 2, .low = -1, .high = 0.5},
                                                {.low = 3, .high = 5},
                                                {.low = -9, .high = -8},
                                                {.low = 8, .high = 9.5},
                                                {.low = 20, .high = 21}})
    expect_truncated(init::truncated_normal_(weight(), options, stream), options);
}

TEST(InitStream, GivesEqualValuesForEqualSeedsWithOneDrawPerElement) {
  Generator first(5), second(5);
  const Tensor a = init::xavier_uniform_(empty({3, 4}, f64), 1, first);
  EXPECT_EQ(first.counter(), 12U);
  EXPECT_TRUE(tensors_equal(init::xavier_uniform_(empty({3, 4}, f64), 1, second), a));
  init::truncated_normal_(empty({7}), {}, first);
  EXPECT_EQ(first.counter(), 19U);
  manual_seed(1);
  const Tensor b = init::normal_(empty({5}));
  manual_seed(1);
  EXPECT_TRUE(tensors_equal(init::normal_(empty({5})), b));
}

TEST(InitStream, ComputesExactQuantiles) {
  // With the whole real line as interval, each value is the quantile of its own draw.
  Generator stream(9), draws(9);
  const Tensor x = init::truncated_normal_(empty({5000}, f64), {.low = -INFINITY, .high = INFINITY}, stream);
  for (const double z : x.to_vector<double>()) EXPECT_NEAR(below(z), draws.uniform(), 1e-15);
}

TEST(InitInPlace, WritesParametersAndInvalidatesOldGraphs) {
  Tensor x = ones({2, 2}, f64).requires_grad_();
  const Tensor product = x * x;
  const Tensor same = init::zeros_(x);
  EXPECT_TRUE(same.is(x));
  EXPECT_TRUE(x.requires_grad() && x.is_leaf());
  EXPECT_THROW(sum(product).backward(), Error);
  const uint64_t version = x.version();
  init::xavier_normal_(x);
  EXPECT_GT(x.version(), version);
}

TEST(InitFans, CoverWeightsAndConvolutions) {
  EXPECT_EQ(init::fans({5, 7}).in, 7);
  EXPECT_EQ(init::fans({5, 7}).out, 5);
  EXPECT_EQ(init::fans({5, 7, 3, 2}).in, 42);
  EXPECT_EQ(init::fans({5, 7, 3, 2}).out, 30);
  EXPECT_TAPE_ERROR(init::fans({5}), ErrorKind::shape,
                    "fans: needs at least two axes [out, in], got a tensor of shape [5]");
}

TEST(InitGain, EqualsPyTorchs) {
  using init::Nonlinearity;
  EXPECT_EQ(init::gain(Nonlinearity::linear), 1);
  EXPECT_EQ(init::gain(Nonlinearity::sigmoid), 1);
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::tanh), 5.0 / 3);
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::relu), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::leaky_relu), std::sqrt(2 / 1.0001));
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::leaky_relu, 1), 1);
  EXPECT_DOUBLE_EQ(init::gain(Nonlinearity::selu), 0.75);
}

TEST(InitErrors, NameTheFunction) {
  const Tensor x = empty({2, 3}), bias = empty({3});
  EXPECT_TAPE_ERROR(init::xavier_uniform_(bias), ErrorKind::shape,
                    "xavier_uniform_: needs at least two axes [out, in], got a tensor of shape [3]");
  EXPECT_TAPE_ERROR(init::kaiming_normal_(scalar(1)), ErrorKind::shape,
                    "kaiming_normal_: needs at least two axes [out, in], got a tensor of shape []");
  EXPECT_TAPE_ERROR(init::xavier_normal_(x, -1), ErrorKind::config,
                    "xavier_normal_: gain must be a number > 0, got -1");
  EXPECT_TAPE_ERROR(init::kaiming_uniform_(empty({2, 3}, i64)), ErrorKind::dtype,
                    "kaiming_uniform_: needs f32 or f64, got i64");
  EXPECT_TAPE_ERROR(init::uniform_(x, 2, 1), ErrorKind::config,
                    "uniform_: needs finite bounds, low <= high, got 2 and 1");
  EXPECT_TAPE_ERROR(init::normal_(x, 0, -1), ErrorKind::config,
                    "normal_: needs a finite mean and stddev >= 0, got 0 and -1");
  EXPECT_THROW(init::uniform_(x, -INFINITY, 1), Error);
  EXPECT_THROW(init::normal_(x, NAN, 1), Error);
  EXPECT_THROW(init::normal_(x, 0, INFINITY), Error);
  EXPECT_TRUE(tensors_equal(init::normal_(x, 3, 0), full(x.shape(), 3)));
  EXPECT_TRUE(tensors_equal(init::uniform_(x, 2, 2), full(x.shape(), 2)));
  EXPECT_TAPE_ERROR(init::truncated_normal_(x, {.stddev = 0}), ErrorKind::config,
                    "truncated_normal: needs a finite mean, stddev > 0 and low < high, got 0, 0, -2 and 2");
  EXPECT_TAPE_ERROR(init::truncated_normal_(x, {.low = 1, .high = 1}), ErrorKind::config,
                    "truncated_normal: needs a finite mean, stddev > 0 and low < high, got 0, 1, 1 and 1");
  EXPECT_TAPE_ERROR(init::truncated_normal_(x, {.low = 40, .high = 41}), ErrorKind::config,
                    "truncated_normal: [40, 41] has no probability mass this far from mean 0 (stddev 1)");
  EXPECT_EQ(init::xavier_uniform_(empty({0, 0})).numel(), 0);
}

}  // namespace
}  // namespace tape::nn
