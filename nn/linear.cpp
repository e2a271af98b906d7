#include "nn/linear.h"

#include "autograd/create.h"
#include "autograd/ops/matmul.h"
#include "nn/check.h"
#include "nn/init.h"

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

Shape linear_shape(int64_t in, int64_t out) {
  if (in < 1 || out < 1) raise(ErrorKind::config, "Linear: sizes must be at least 1, got {} -> {}", in, out);
  return {out, in};
}

}  // namespace

Linear::Linear(int64_t in, int64_t out, const LinearOptions& options)
    : weight(this, "weight", empty(linear_shape(in, out))), bias(this, "bias", options.bias ? zeros({out}) : Tensor()) {
  init::xavier_uniform_(weight);
}

Tensor Linear::forward(const Tensor& x) const { return linear(x, weight, bias); }

std::string Linear::settings() const {
  return fmt::format("{} -> {}{}", weight.size(1), weight.size(0), bias.defined() ? "" : ", no bias");
}

}  // namespace tape::nn
