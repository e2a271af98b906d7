#include "autograd/ops/norm/group_norm.h"
#include "nn/gradcheck/check.h"
#include "nn/norm/group_norm.h"

namespace tape::nn {
namespace {

const ModuleCheck group_norm_check("GroupNorm", "two groups", [](const Checker& check) {
  GroupNorm layer(2, 4);
  return check(layer, {sample_normal({2, 4, 3})});
});

const ModuleCheck group_norm_plain("GroupNorm", "plain", [](const Checker& check) {
  GroupNorm layer(1, 2, {.affine = false});
  return check(layer, {sample_normal({2, 2, 2, 2})});
});

}  // namespace
}  // namespace tape::nn
