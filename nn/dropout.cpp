#include "nn/dropout.h"

#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/dropout.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

const ModuleCheck training("Dropout", "training", [](const Checker& check) {
  Dropout layer(0.4);
  return check(layer, {sample_normal({4, 5})});
});

}  // namespace

Dropout::Dropout(double p) : p_(p) { check_dropout("Dropout", p); }

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, active_probability()); }

std::string Dropout::settings() const { return fmt::format("{}", p_); }

}  // namespace tape::nn
