#pragma once

#include <concepts>

#include "../tensor.h"

namespace tape {

/// Options of backward() and Tensor::backward().
struct BackwardOptions {
  Tensor gradient = {};       ///< seed, of the output's shape; defaults to ones for a single element
  bool retain_graph = false;  ///< keep the saved values for another backward
  bool create_graph = false;  ///< record the backward itself, for higher derivatives; implies retain_graph
};
/// Accumulates the gradients of several outputs into grad() of every leaf they depend on. `gradients` are the seeds
/// dL/d(output), one per output and of its shape and dtype. A missing or undefined seed means ones and requires an
/// output with a single element. options.gradient is ignored. Throws Error (graph) for an output without a graph or
/// with a missing seed, for a second backward through values freed by the first, and for a saved value that was
/// modified in place; (shape) for a seed of the wrong shape or dtype.
void backward(const Tensors& outputs, const Tensors& gradients, const BackwardOptions& options = {});

/// Options of grad().
struct GradOptions {
  Tensors gradients = {};     ///< seeds, one per output; if empty, ones for single elements
  bool retain_graph = false;  ///< as in BackwardOptions
  bool create_graph = false;  ///< as in BackwardOptions
  bool allow_unused = false;  ///< return an undefined gradient for an unused input instead of throwing
};
/// Gradients of the outputs with respect to the inputs, one per input and of its shape and dtype; changes no grad().
/// Throws the errors of backward(), and Error (graph) for an input that does not require gradients, or that the outputs
/// do not depend on unless .allow_unused is set.
Tensors grad(const Tensors& outputs, const Tensors& inputs, const GradOptions& options = {});
/// The same for one output. grad(loss, x) returns a tensor; grad(loss, {x}) and grad(loss, {x, y}) return lists.
/// @{
// Input is deduced, which braces never are: {x} would otherwise convert to a tensor, and grad(loss, {x})[0] be its row.
template <std::same_as<Tensor> T, std::convertible_to<Tensor> Input>
Tensor grad(const T& output, const Input& input, const GradOptions& options = {}) {
  return grad(Tensors{output}, Tensors{input}, options)[0];
}
template <std::same_as<Tensor> T>
Tensors grad(const T& output, const Tensors& inputs, const GradOptions& options = {}) {
  return grad(Tensors{output}, inputs, options);
}
/// @}

}  // namespace tape
