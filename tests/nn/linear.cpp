#include "nn/linear.h"

#include <cmath>

#include "autograd/kernels/runtime/common/isa.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Linear, AgreesWithTorch) {
  Linear with_bias(5, 4), without(5, 3, {.bias = false});
  expect_agrees_with_torch("linear", with_bias);
  expect_agrees_with_torch("linear no bias", without);
}

TEST(Linear, StartsXavierUniformWithZeroBias) {
  manual_seed(3);
  Linear layer(300, 100);
  const double bound = std::sqrt(6.0 / 400);
  EXPECT_LE(largest(layer.weight), bound);
  EXPECT_GT(largest(layer.weight), 0.99 * bound);
  EXPECT_EQ(largest(layer.bias), 0);
}

TEST(Linear, AcceptsEmptyBatches) {
  Linear layer(3, 2);
  const Tensor x = zeros({0, 3}).requires_grad_();
  const Tensor y = layer(x);
  EXPECT_EQ(to_string(y.shape()), "[0, 2]");
  y.backward({.gradient = zeros({0, 2})});
  EXPECT_EQ(largest(layer.weight.grad()), 0);
}

TEST(Linear, PrintsItsSettings) {
  EXPECT_EQ(Linear(5, 4).settings(), "5 -> 4");
  EXPECT_EQ(Linear(5, 4, {.bias = false}).settings(), "5 -> 4, no bias");
}

TEST(Linear, RefusesWidthsBelowOneAndInputsOfAnotherWidth) {
  EXPECT_TAPE_ERROR(Linear(0, 4), ErrorKind::config, "Linear: sizes must be at least 1, got 0 -> 4");
  EXPECT_TAPE_ERROR(Linear(3, -1), ErrorKind::config, "Linear: sizes must be at least 1, got 3 -> -1");
  Linear layer(5, 4);
  EXPECT_TAPE_ERROR(layer(zeros({2, 3})), ErrorKind::shape,
                    "linear: inner sizes differ: x [2, 3] x weight [4, 5] (3 vs 5)");
  EXPECT_TAPE_ERROR(layer(zeros({2, 5}, f64)), ErrorKind::dtype, "linear: dtypes differ: f64 and f32");
}

TEST(Linear, CachesPackedWeightsForInferenceAndSeesLoadedValues) {
  if (kernels::isa() < kernels::Isa::v3) GTEST_SKIP() << "this CPU's level does not pack weights";
  Linear layer(40, 30), other(40, 30);
  const Tensor x = randn({12, 40});
  const auto live = [] { return memory_stats().live_bytes; };
  layer(x);
  const int64_t before = live();
  layer.eval();
  layer(x);
  EXPECT_EQ(live(), before);
  layer.prepare_for_inference();
  layer(x);
  EXPECT_GE(live(), before + 40 * 30 * 4);
  layer.load_state_dict(other.state_dict());
  EXPECT_TRUE(tensors_near(layer(x), other(x), 1e-5));
  layer.train();
  EXPECT_EQ(live(), before);
}

}  // namespace
}  // namespace tape::nn
