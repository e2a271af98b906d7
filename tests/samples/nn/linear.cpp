#include "nn/linear.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck linear_with_bias("Linear", "with bias", [](const Checker& check) {
  Linear layer(3, 4);
  return check(layer, {sample_normal({2, 5, 3})});
});

const ModuleCheck linear_without_bias("Linear", "without bias", [](const Checker& check) {
  Linear layer(3, 2, {.bias = false});
  return check(layer, {sample_normal({4, 3})});
});

}  // namespace
}  // namespace tape::nn
