#include "nn/identity.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck identity_check("Identity", "any shape", [](const Checker& check) {
  Identity layer;
  return check(layer, {sample_normal({2, 3})});
});

}  // namespace
}  // namespace tape::nn
