#include "autograd/ops/elementwise/dropout.h"
#include "nn/dropout.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck dropout_training("Dropout", "training", [](const Checker& check) {
  Dropout layer(0.4);
  return check(layer, {sample_normal({4, 5})});
});

}  // namespace
}  // namespace tape::nn
