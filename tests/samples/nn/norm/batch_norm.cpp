#include <cmath>

#include "nn/gradcheck/check.h"
#include "nn/norm/batch_norm.h"

namespace tape::nn {
namespace {

const ModuleCheck batch_norm1d_training("BatchNorm1d", "training", [](const Checker& check) {
  BatchNorm1d layer(3);
  return check(layer, {sample_normal({5, 3})});
});

const ModuleCheck batch_norm1d_evaluation("BatchNorm1d", "evaluation", [](const Checker& check) {
  BatchNorm1d layer(2);
  layer.running_mean.fill_(0.3);
  layer.running_var.fill_(1.7);
  layer.eval();
  return check(layer, {sample_normal({2, 2, 3})});
});

const ModuleCheck batch_norm2d_training("BatchNorm2d", "training", [](const Checker& check) {
  BatchNorm2d layer(2);
  return check(layer, {sample_normal({2, 2, 2, 2})});
});

}  // namespace
}  // namespace tape::nn
