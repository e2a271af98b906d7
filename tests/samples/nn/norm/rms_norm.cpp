#include "nn/norm/rms_norm.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck rms_norm_last_axis("RMSNorm", "last axis", [](const Checker& check) {
  RMSNorm layer(5);
  return check(layer, {sample_normal({2, 3, 5})});
});

}  // namespace
}  // namespace tape::nn
