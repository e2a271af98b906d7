#pragma once

#include <functional>
#include <vector>

#include "../tensor.h"

namespace tape {

/// The Jacobian of f at the inputs: for input i, [... of the output, ... of the input] with
/// J[a.., b..] = d f[a..] / d x_i[b..]; undefined for i64 and bool inputs, zeros where the output does not depend on an
/// input. f is called once, on leaves of its own; the result has no history.
///
/// A row at a time by reverse mode, a backward for each element of the output; or, where the inputs have less than half
/// as many elements, a column at a time by forward mode (jvp()), a backward through the gradient for each of theirs.
/// For J t or J^T v alone use jvp() or vjp(), at the price of one row. Error (dtype) where f gives no f32 or f64.
Tensors jacobian(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

/// The Hessian of f, a single number, at the inputs: H[i][j] is [... of input i, ... of input j], with
/// H[i][j][a.., b..] = d^2 f / d x_i[a..] d x_j[b..]; undefined where either has no gradient. The gradient is recorded
/// once, and differentiated once for each of its elements: for H v alone use hvp(). Error (graph) where f gives more
/// than one number.
std::vector<Tensors> hessian(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

}  // namespace tape
