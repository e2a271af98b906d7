#include <cmath>

#include "nn/gradcheck/check.h"
#include "nn/position/positional_encoding.h"

namespace tape::nn {
namespace {

const ModuleCheck shorter_sequence("PositionalEncoding", "shorter sequence", [](const Checker& check) {
  PositionalEncoding layer(6, 10);
  return check(layer, {sample_normal({2, 4, 6})});
});

const ModuleCheck learned_positions("LearnedPositionalEncoding", "shorter sequence", [](const Checker& check) {
  LearnedPositionalEncoding layer(3, 5);
  return check(layer, {sample_normal({2, 4, 3})});
});

const ModuleCheck learned_with_offset("LearnedPositionalEncoding", "rows with an offset", [](const Checker& check) {
  LearnedPositionalEncoding layer(3, 4, {.offset = 2});
  return check(layer, {sample_normal({2, 4, 3})});
});

}  // namespace
}  // namespace tape::nn
