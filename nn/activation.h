#pragma once

#include <string_view>

#include "module/child.h"

namespace tape::nn {

/// Function of an Activation. gelu_tanh is the tanh approximation of gelu, silu is x sigmoid(x).
enum class ActivationKind { relu, gelu, gelu_tanh, silu, tanh, sigmoid };

/// Returns the name of a kind, as in "gelu_tanh".
std::string_view to_string(ActivationKind kind);
/// Returns all kinds with their names.
std::vector<std::pair<std::string_view, ActivationKind>> activation_names();

/// Elementwise nonlinearity as a layer (formulas in autograd/ops/elementwise/unary.h): x of any shape, f32 or f64 ->
/// the same shape.
class Activation : public Layer<Activation> {
 public:
  /// Applies this function.
  explicit Activation(ActivationKind kind) : kind_(kind) {}
  /// Returns the function of each value. Throws as the operation of that name.
  Tensor forward(const Tensor& x) const;
  /// Returns the name of the function, as in "gelu".
  std::string settings() const override { return std::string(to_string(kind_)); }
  ActivationKind kind() const { return kind_; }  ///< the function applied

 private:
  ActivationKind kind_;
};

}  // namespace tape::nn
