#include <cmath>

#include "nn/gradcheck/check.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "nn/lora.h"

namespace tape::nn {
namespace {

/// Creates the layer each time, with a non-zero update. There is no check of DoRA: its backward pass treats the norms
/// as constants, finite differences do not.
const ModuleCheck lora_of_a_linear("Lora", "of a Linear", [](const Checker& check) {
  Linear layer(4, 3);
  init::normal_(layer.add_adapter("default", {.rank = 2, .alpha = 3}).B);
  return check(layer, {sample_normal({2, 5, 4})});
});

const ModuleCheck lora_rank_stabilized("Lora", "rank stabilized, without bias", [](const Checker& check) {
  Linear layer(3, 4, {.bias = false});
  init::normal_(layer.add_adapter("default", {.rank = 2, .rank_stabilized = true}).B);
  return check(layer, {sample_normal({4, 3})});
});

}  // namespace
}  // namespace tape::nn
