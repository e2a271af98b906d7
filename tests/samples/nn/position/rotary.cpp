#include <cmath>

#include "nn/gradcheck/check.h"
#include "nn/position/rotary.h"

namespace tape::nn {
namespace {

const ModuleCheck rotary_halves("Rotary", "halves", [](const Checker& check) {
  Rotary layer(4);
  return check(layer, {sample_normal({2, 3, 8})});
});

const ModuleCheck rotary_interleaved("Rotary", "interleaved, some columns", [](const Checker& check) {
  Rotary layer(8, {.pairing = RotaryPairing::interleaved, .theta = 100, .fraction = 0.5});
  return check(layer, {sample_normal({1, 3, 8})});
});

const ModuleCheck rotary_scaled("Rotary", "YaRN", [](const Checker& check) {
  Rotary layer(8, {.scaling = YarnScaling{.factor = 4, .original_length = 32}});
  return check(layer, {sample_normal({1, 3, 8})});
});

}  // namespace
}  // namespace tape::nn
