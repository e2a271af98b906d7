#include "train/checkpoints/average.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "nn/linear.h"
#include "tests/support/errors.h"

namespace tape::train {
namespace {

void set_weight(nn::Linear& layer, double value) { layer.weight.fill_(value); }
double weight(const nn::StateDict& state) { return state.at("weight").to_vector<float>()[0]; }

TEST(MovingAverage, FollowsItsFormula) {
  nn::Linear layer(1, 1);
  const NoGrad no_grad;
  set_weight(layer, 1);
  MovingAverage average(layer, 0.5);
  set_weight(layer, 2);
  average.update(1);  // d = 2/11
  EXPECT_NEAR(weight(average.values()), 2.0 / 11 * 1 + 9.0 / 11 * 2, 1e-6);
  set_weight(layer, 4);
  average.update(100);  // d = 0.5, below 101/110
  EXPECT_NEAR(weight(average.values()), 0.5 * (2.0 / 11 + 18.0 / 11) + 0.5 * 4, 1e-6);
  EXPECT_EQ(layer.weight.to_vector<float>()[0], 4);
}

TEST(MovingAverage, RefusesDecaysOutOfRangeAndValuesOfOtherShapes) {
  nn::Linear layer(1, 1);
  for (const double decay : {0.0, 1.0, -1.0, std::nan("")})
    EXPECT_TAPE_ERROR(MovingAverage(layer, decay), ErrorKind::config,
                      fmt::format("MovingAverage: decay must be between 0 and 1, got {}", decay));
  MovingAverage average(layer, 0.5);
  EXPECT_TAPE_ERROR(average.load({{"weight", zeros({2, 1})}, {"more", zeros({1})}}), ErrorKind::format,
                    "MovingAverage: the values do not match the model:\n  missing: \"bias\" [1]\n"
                    "  \"weight\" is f32 [2, 1], expected f32 [1, 1]\n  unexpected: \"more\"");
}

TEST(ScopedWeights, RestoresTheOriginalWeights) {
  nn::Linear layer(1, 1);
  const NoGrad no_grad;
  set_weight(layer, 3);
  {
    const ScopedWeights other(layer, {{"weight", full({1, 1}, 7)}});
    EXPECT_EQ(layer.weight.to_vector<float>()[0], 7);
  }
  EXPECT_EQ(layer.weight.to_vector<float>()[0], 3);
  EXPECT_TAPE_ERROR(ScopedWeights(layer, {{"wait", full({1, 1}, 7)}}), ErrorKind::format,
                    "load_state_dict: Linear does not fit:\n  unexpected: \"wait\" [1, 1]");
  EXPECT_EQ(layer.weight.to_vector<float>()[0], 3);
}

TEST(AverageOf, IsTheMean) {
  const nn::StateDict mean = average_states({{{"w", tensor({1, 2})}, {"n", tensor({5}, i64)}},
                                             {{"w", tensor({2, 4})}, {"n", tensor({6}, i64)}},
                                             {{"w", tensor({6, 0})}, {"n", tensor({9}, i64)}}});
  EXPECT_EQ(mean.at("w").to_vector<float>(), (std::vector<float>{3, 2}));
  EXPECT_EQ(mean.at("n").to_vector<int64_t>(), (std::vector<int64_t>{9}));
}

TEST(AverageOf, RefusesStatesThatDiffer) {
  EXPECT_TAPE_ERROR(average_states({}), ErrorKind::config, "average_states: no states to average");
  EXPECT_TAPE_ERROR(average_states({{{"w", tensor({1, 2})}}, {{"w", tensor({1})}}}), ErrorKind::format,
                    "average_states: \"w\" is f32 [2] in one state, f32 [1] in another");
  EXPECT_TAPE_ERROR(average_states({{{"w", tensor({1})}}, {{"v", tensor({1})}}}), ErrorKind::format,
                    "average_states: \"v\" is not in every state");
  EXPECT_TAPE_ERROR(average_states({{{"w", tensor({1})}}, {}}), ErrorKind::format,
                    "average_states: 1 tensors in one state, 0 in another");
}

}  // namespace
}  // namespace tape::train
