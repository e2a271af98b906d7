#include "nn/activation.h"

#include "autograd/ops/unary.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

template <ActivationKind kind>
GradcheckReport check_kind(const Checker& check) {
  Activation layer(kind);
  return check(layer, {sample_distinct({3, 4})});
}

const ModuleCheck relu_check("Activation", "relu", check_kind<ActivationKind::relu>);
const ModuleCheck gelu_check("Activation", "gelu", check_kind<ActivationKind::gelu>);
const ModuleCheck gelu_tanh_check("Activation", "gelu_tanh", check_kind<ActivationKind::gelu_tanh>);
const ModuleCheck silu_check("Activation", "silu", check_kind<ActivationKind::silu>);
const ModuleCheck tanh_check("Activation", "tanh", check_kind<ActivationKind::tanh>);
const ModuleCheck sigmoid_check("Activation", "sigmoid", check_kind<ActivationKind::sigmoid>);

}  // namespace

std::string_view to_string(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::relu:
      return "relu";
    case ActivationKind::gelu:
      return "gelu";
    case ActivationKind::gelu_tanh:
      return "gelu_tanh";
    case ActivationKind::silu:
      return "silu";
    case ActivationKind::tanh:
      return "tanh";
    case ActivationKind::sigmoid:
      return "sigmoid";
  }
  return "?";
}

Tensor Activation::forward(const Tensor& x) const {
  switch (kind_) {
    case ActivationKind::relu:
      return tape::relu(x);
    case ActivationKind::gelu:
      return tape::gelu(x);
    case ActivationKind::gelu_tanh:
      return tape::gelu_tanh(x);
    case ActivationKind::silu:
      return tape::silu(x);
    case ActivationKind::tanh:
      return tape::tanh(x);
    case ActivationKind::sigmoid:
      return tape::sigmoid(x);
  }
  raise(ErrorKind::config, "Activation: unknown kind {}", static_cast<int>(kind_));
}

}  // namespace tape::nn
