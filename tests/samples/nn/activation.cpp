#include "nn/activation.h"
#include "nn/gradcheck/check.h"

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
}  // namespace tape::nn
