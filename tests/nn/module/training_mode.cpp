#include "nn/module/training_mode.h"

#include <gmock/gmock.h>

#include "nn/transformer/feed_forward.h"

namespace tape::nn {
namespace {

TEST(TrainingModeGuard, RestoresEachModulesOwnMode) {
  FeedForward layer(2, 3, {});
  layer.train();
  layer.linear1->eval();
  {
    const TrainingModeGuard guard(layer, false);
    EXPECT_FALSE(layer.is_training());
    EXPECT_FALSE(layer.linear2->is_training());
    const TrainingModeGuard inner(layer, true);
    EXPECT_TRUE(layer.linear1->is_training());
  }
  EXPECT_TRUE(layer.is_training());
  EXPECT_FALSE(layer.linear1->is_training());
  EXPECT_TRUE(layer.linear2->is_training());
}

}  // namespace
}  // namespace tape::nn
