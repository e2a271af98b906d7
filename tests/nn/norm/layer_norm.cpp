#include "nn/norm/layer_norm.h"

#include <cmath>

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(LayerNorm, AgreesWithTorch) {
  LayerNorm plain(7), large_eps(7, {.eps = 0.3}), without_bias(7, {.eps = 1e-12, .bias = false});
  expect_agrees_with_torch("layer norm", plain);
  expect_agrees_with_torch("layer norm eps", large_eps);
  expect_agrees_with_torch("layer norm no bias", without_bias);
}

TEST(LayerNorm, MapsEqualValuesToTheBias) {
  LayerNorm layer(3);
  const NoGrad no_grad;
  layer.bias.copy_(tensor({1, 2, 3}));
  EXPECT_TRUE(tensors_equal(layer(full({2, 3}, 5)), tensor({{1, 2, 3}, {1, 2, 3}})));
}

TEST(LayerNorm, PrintsItsSettings) { EXPECT_EQ(LayerNorm(8, {.eps = 1e-6}).settings(), "8, eps 1e-06"); }

TEST(LayerNorm, RefusesWidthsBelowOneAndInputsOfAnotherWidth) {
  EXPECT_TAPE_ERROR(LayerNorm(0), ErrorKind::config, "LayerNorm: width must be at least 1, got 0");
  EXPECT_TAPE_ERROR(LayerNorm(-3), ErrorKind::config, "LayerNorm: width must be at least 1, got -3");
  EXPECT_TAPE_ERROR(LayerNorm(3, {.eps = -1}), ErrorKind::config, "LayerNorm: eps must not be negative, got -1");
  EXPECT_TAPE_ERROR(LayerNorm(3, {.eps = NAN}), ErrorKind::config, "LayerNorm: eps must not be negative, got nan");
  EXPECT_NO_THROW(LayerNorm(3, {.eps = 0}));
  LayerNorm layer(3);
  EXPECT_TAPE_ERROR(layer(zeros({2, 4})), ErrorKind::shape, "layer_norm: weight must be [4] for x [2, 4], got [3]");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3}, f64)), ErrorKind::dtype, "layer_norm: dtypes differ: f64 and f32");
}

}  // namespace
}  // namespace tape::nn
