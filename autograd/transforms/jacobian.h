#pragma once

#include <functional>
#include <vector>

#include "../tensor.h"

namespace tape {

/// The Jacobian of f at the inputs: for input i, [... of the output, ... of the input] with J[a.., b..] = d f[a..] / d
/// x_i[b..]. Undefined for i64 and bool inputs, zeros if the output does not depend on the input. f is called once, on
/// detached copies of the inputs; the result has no history.
///
/// Computed row by row in reverse mode, with one backward per element of the output; or, if the inputs have less than
/// half as many elements, column by column in forward mode (jvp()), with one backward through the gradient per element
/// of the inputs. If you only need J t or J^T v, use jvp() or vjp(), which cost one row. Throws Error (dtype) if f does
/// not return f32 or f64.
Tensors jacobian(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

/// The Hessian of f, which must return a single value, at the inputs: H[i][j] is [... of input i, ... of input j], with
/// H[i][j][a.., b..] = d^2 f / d x_i[a..] d x_j[b..]; undefined if either input has no gradient. The gradient is
/// recorded once and differentiated once per element. If you only need H v, use hvp(). Throws Error (graph) if f
/// returns more than one value.
std::vector<Tensors> hessian(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs);

}  // namespace tape
