#include "nn/sequential.h"

#include "autograd/ops/elementwise/unary.h"
#include "nn/gradcheck/check.h"
#include "nn/linear.h"

namespace tape::nn {
namespace {

const ModuleCheck sequential_check("Sequential", "layers and a function", [](const Checker& check) {
  Sequential layer;
  layer.add<Linear>(3, 4).add(tape::tanh).add<Linear>(4, 2);
  return check(layer, {sample_normal({2, 3})});
});

}  // namespace
}  // namespace tape::nn
