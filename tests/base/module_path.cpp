#include "base/module_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tape {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ModulePath, KeepsAListIndexWithTheNameOfItsList) {
  EXPECT_THAT(split_module_path("encoder.layers.0.norm1"), ElementsAre("encoder", "layers.0", "norm1"));
  EXPECT_THAT(split_module_path("layers.10"), ElementsAre("layers.10"));
  EXPECT_THAT(split_module_path("blocks.0.1.norm"), ElementsAre("blocks.0.1", "norm")) << "a list of lists";
  EXPECT_THAT(split_module_path("conv.1x1"), ElementsAre("conv", "1x1")) << "a name that only begins with a digit";
  EXPECT_THAT(split_module_path("0.norm"), ElementsAre("0", "norm")) << "a number without a list";
  EXPECT_THAT(split_module_path(""), IsEmpty());
}

TEST(ModulePath, ListsTheEnclosingModulesOutermostFirst) {
  EXPECT_THAT(enclosing_modules("encoder.layers.0.norm1"),
              ElementsAre("encoder", "encoder.layers.0", "encoder.layers.0.norm1"));
  EXPECT_THAT(enclosing_modules(""), IsEmpty());
}

TEST(ModulePath, TellsWhetherAPathIsInsideAModule) {
  EXPECT_TRUE(is_in_module("layers.1.norm", "layers.1"));
  EXPECT_TRUE(is_in_module("layers.1", "layers.1"));
  EXPECT_FALSE(is_in_module("layers.10", "layers.1"));
  EXPECT_FALSE(is_in_module("layers", "layers.1"));
}

TEST(ModulePath, MatchesAPatternItselfOrByAnEnclosingModule) {
  EXPECT_TRUE(matches_pattern("decoder.layers.1.norm1", "decoder.layers.1.norm1"));
  EXPECT_TRUE(matches_pattern("decoder.layers.1.norm1.weight", "decoder.layers.1"));
  EXPECT_TRUE(matches_pattern("decoder.layers.1.cross_attention.query", "*.cross_attention"));
  EXPECT_TRUE(matches_pattern("decoder.layers.1", "*ers*1*"));
  EXPECT_TRUE(matches_pattern("", "*"));
  EXPECT_FALSE(matches_pattern("decoder.layers.10", "decoder.layers.1"));
  EXPECT_FALSE(matches_pattern("decoder.layers.1", "layers.1")) << "a pattern must match the whole path";
  EXPECT_FALSE(matches_pattern("decoder", "decoder.*"));
  EXPECT_FALSE(matches_pattern("decoder.layers.1", ""));
}

}  // namespace
}  // namespace tape
