#pragma once

#include <concepts>

#include "../tensor.h"

namespace tape {

struct BackwardOptions {
  Tensor gradient = {};       ///< seed, of the output's shape; ones for a single element
  bool retain_graph = false;  ///< keep the saved values for another backward
  bool create_graph = false;  ///< record the backward itself, for higher derivatives (keeps the saved values too)
};
/// Gradients of several outputs at once, added to the grad() of every leaf that they were made from. `gradients` are
/// the seeds dL/d(output), one an output and of its shape and dtype; none, or an undefined one, stands for ones and
/// needs an output of a single element. The options' own seed is Tensor::backward()'s and is not read here. Error
/// (graph) for an output without a graph, one that needs a seed, a second backward through values that the first has
/// freed, and a value that was changed in place since; Error (shape) for a seed that does not fit.
void backward(const Tensors& outputs, const Tensors& gradients, const BackwardOptions& options = {});

struct GradOptions {
  Tensors gradients = {};  ///< seeds, one an output; ones for single elements where empty
  bool retain_graph = false;
  bool create_graph = false;
  bool allow_unused = false;  ///< an input the outputs do not depend on gives an undefined gradient, not an Error
};
/// Gradients of the outputs with respect to the inputs, one an input and of its shape and dtype; no grad() is touched.
/// Errors as backward(), and Error (graph) for an input that does not require gradients, or that the outputs do not
/// depend on unless .allow_unused.
Tensors grad(const Tensors& outputs, const Tensors& inputs, const GradOptions& options = {});
/// Of one output: grad(loss, x), and grad(loss, {x, y}).
template <std::same_as<Tensor> T>
Tensor grad(const T& output, const T& input, const GradOptions& options = {}) {
  return grad(Tensors{output}, Tensors{input}, options)[0];
}
template <std::same_as<Tensor> T>
Tensors grad(const T& output, const Tensors& inputs, const GradOptions& options = {}) {
  return grad(Tensors{output}, inputs, options);
}

}  // namespace tape
