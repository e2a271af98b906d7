#include "nn/norm/rms_norm.h"

#include <cmath>

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

void expect_norm_as_torch(const std::string& name, RMSNorm& layer) {
  expect_agrees_with_torch(
      TorchCase("variants", name),
      [&](const Named& in) {
        return Named{{"y", layer(in.at("input"))}};
      },
      &layer);
}

TEST(RMSNorm, AgreesWithTorch) {
  RMSNorm plain(7), large_eps(7, {.eps = 0.3});
  expect_norm_as_torch("rms norm", plain);
  expect_norm_as_torch("rms norm eps", large_eps);
}

TEST(RMSNorm, DoesNotCenter) {
  RMSNorm layer(2, {.eps = 0});
  EXPECT_TRUE(tensors_equal(layer(tensor({{3, 3}, {0, -2}})), tensor({{1, 1}, {0, -std::sqrt(2)}})));
}

TEST(RMSNorm, PrintsItsSettings) { EXPECT_EQ(RMSNorm(8).settings(), "8, eps 1e-06"); }

TEST(RMSNorm, RefusesWidthsBelowOneAndInputsOfAnotherWidth) {
  EXPECT_TAPE_ERROR(RMSNorm(0), ErrorKind::config, "RMSNorm: width must be at least 1, got 0");
  EXPECT_TAPE_ERROR(RMSNorm(3, {.eps = -1}), ErrorKind::config, "RMSNorm: eps must not be negative, got -1");
  EXPECT_TAPE_ERROR(RMSNorm(3, {.eps = NAN}), ErrorKind::config, "RMSNorm: eps must not be negative, got nan");
  EXPECT_NO_THROW(RMSNorm(3, {.eps = 0}));
  RMSNorm layer(3);
  EXPECT_TAPE_ERROR(layer(zeros({2, 4})), ErrorKind::shape, "rms_norm: weight must be [4] for x [2, 4], got [3]");
  EXPECT_TAPE_ERROR(layer(zeros({2, 0})), ErrorKind::shape, "rms_norm: nothing to normalize in [2, 0]");
  EXPECT_TAPE_ERROR(layer(scalar(1)), ErrorKind::shape, "rms_norm: nothing to normalize in []");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3}, f64)), ErrorKind::dtype, "rms_norm: dtypes differ: f64 and f32");
}

}  // namespace
}  // namespace tape::nn
