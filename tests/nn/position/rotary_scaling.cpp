#include "nn/position/rotary_scaling.h"

#include <cmath>

#include "nn/position/rotary.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// Compares frequencies, attention factor and rotated columns with transformers.
void expect_scaled_as_torch(const std::string& name, const RotaryOptions& options, int64_t length = 9) {
  const TorchCase c("rotary_scaling", name);
  const Tensor expected = c.in.at("frequencies");
  const int64_t width = 2 * expected.size(0);
  const RotaryFrequencies frequencies{options.theta, width, options.scaling};
  EXPECT_TRUE(tensors_near(from_vector(frequencies.inverse(length)), expected, 1e-15)) << name;
  EXPECT_NEAR(frequencies.attention_factor(), c.in.at("factor").item(), 1e-15) << name;
  if (length != 9) return;
  Rotary layer(width, options);
  expect_agrees_with_torch(
      c,
      [&](const Named& in) {
        return Named{{"y", layer(in.at("input"), 3)}};
      },
      &layer);
}

TEST(RotaryScaling, AgreesWithTransformers) {
  expect_scaled_as_torch("linear", {.scaling = LinearScaling{2.5}});
  expect_scaled_as_torch("dynamic short", {.scaling = DynamicScaling{2, 64}});
  expect_scaled_as_torch("dynamic long", {.scaling = DynamicScaling{2, 64}}, 100);
  expect_scaled_as_torch("llama3", {.theta = 5e5, .scaling = Llama3Scaling{}});
  expect_scaled_as_torch("yarn", {.scaling = YarnScaling{.factor = 4, .original_length = 64}});
  expect_scaled_as_torch(
      "yarn untruncated",
      {.scaling = YarnScaling{.factor = 4, .original_length = 64, .beta_fast = 16, .beta_slow = 2, .truncate = false}});
  expect_scaled_as_torch(
      "yarn mscale", {.scaling = YarnScaling{.factor = 4, .original_length = 64, .mscale = 1, .mscale_all_dim = 0.5}});
  expect_scaled_as_torch("yarn attention factor",
                         {.scaling = YarnScaling{.factor = 4, .original_length = 64, .attention_factor = 1.7}});
  expect_scaled_as_torch("yarn of long contexts", {.scaling = YarnScaling{.factor = 4, .original_length = 4096}});
}

TEST(RotaryScaling, DynamicScalingGrowsWithTheLastPosition) {
  Rotary plain(4), dynamic(4, {.scaling = DynamicScaling{2, 6}});
  const Tensor x = randn({1, 3, 4}, f64);
  EXPECT_TRUE(tensors_equal(dynamic(x, 3), plain(x, 3)));
  EXPECT_FALSE(tensors_near(dynamic(x, 4), plain(x, 4), 1e-6));
  EXPECT_TRUE(tensors_equal(dynamic(x, tensor({4, 5, 6}, i64)), dynamic(x, 4)));
  EXPECT_FALSE(tensors_near(dynamic(x, tensor({6, 4, 5}, i64)), plain(x, tensor({6, 4, 5}, i64)), 1e-6));
}

TEST(RotaryScaling, IsPrinted) {
  EXPECT_EQ(Rotary(4, {.scaling = LinearScaling{2}}).settings(),
            "4 of 4 columns, halves, theta 10000, linear scaling by 2");
  EXPECT_EQ(to_string(RotaryScaling(DynamicScaling{3, 5})), "dynamic scaling by 3");
  EXPECT_EQ(to_string(RotaryScaling(Llama3Scaling{})), "llama3 scaling by 8");
  EXPECT_EQ(to_string(RotaryScaling(YarnScaling{.factor = 40})), "yarn scaling by 40");
}

TEST(RotaryScaling, RefusesInvalidSettings) {
  const auto rotary = [](const RotaryScaling& scaling, double theta = 1e4, int64_t width = 8) {
    Rotary layer(width, {.theta = theta, .scaling = scaling});
  };
  EXPECT_TAPE_ERROR(rotary(LinearScaling{0}), ErrorKind::config,
                    "Rotary: the factor of linear scaling must be a positive number, got 0");
  EXPECT_TAPE_ERROR(rotary(LinearScaling{INFINITY}), ErrorKind::config,
                    "Rotary: the factor of linear scaling must be a positive number, got inf");
  EXPECT_TAPE_ERROR(rotary(DynamicScaling{NAN, 8}), ErrorKind::config,
                    "Rotary: the factor of dynamic scaling must be a positive number, got nan");
  EXPECT_TAPE_ERROR(rotary(DynamicScaling{2, 0}), ErrorKind::config,
                    "Rotary: the original length of dynamic scaling must be at least 1, got 0");
  EXPECT_TAPE_ERROR(rotary(DynamicScaling{2, 8}, 1e4, 2), ErrorKind::config,
                    "Rotary: dynamic scaling needs at least 4 rotated columns, got 2");
  EXPECT_TAPE_ERROR(rotary(Llama3Scaling{.low_freq_factor = 4}), ErrorKind::config,
                    "Rotary: llama3 scaling needs 0 < low_freq_factor < high_freq_factor, got 4 and 4");
  EXPECT_TAPE_ERROR(rotary(Llama3Scaling{.low_freq_factor = 0}), ErrorKind::config,
                    "Rotary: llama3 scaling needs 0 < low_freq_factor < high_freq_factor, got 0 and 4");
  EXPECT_TAPE_ERROR(rotary(YarnScaling{.factor = 2, .original_length = 8}, 1), ErrorKind::config,
                    "Rotary: yarn scaling needs theta > 1, got 1");
  EXPECT_TAPE_ERROR(rotary(YarnScaling{.factor = 2, .original_length = 8, .beta_fast = 0.5}), ErrorKind::config,
                    "Rotary: yarn scaling needs 0 < beta_slow <= beta_fast, got 1 and 0.5");
  EXPECT_TAPE_ERROR(rotary(YarnScaling{.factor = 2, .original_length = 8, .beta_fast = 1, .beta_slow = 0}),
                    ErrorKind::config, "Rotary: yarn scaling needs 0 < beta_slow <= beta_fast, got 0 and 1");
  EXPECT_NO_THROW(rotary(YarnScaling{.factor = 2, .original_length = 8, .beta_fast = 1, .beta_slow = 1}));
  EXPECT_TAPE_ERROR(rotary(YarnScaling{.factor = 2, .original_length = 8, .attention_factor = 0}), ErrorKind::config,
                    "Rotary: the attention factor of yarn scaling must be positive, got 0");
}

}  // namespace
}  // namespace tape::nn
