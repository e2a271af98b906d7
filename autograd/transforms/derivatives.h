#pragma once

#include <functional>

#include "../tensor.h"

namespace tape {

/// Result of jvp().
struct Jvp {
  Tensor value;    ///< f(x)
  Tensor tangent;  ///< J(x) t, of the value's shape: the derivative of f at x along t
};

/// Jacobian-vector product (forward mode): the Jacobian of f at the inputs times the tangents, one per input and of its
/// shape and dtype. An undefined tangent is zero, and i64 and bool inputs have none. Works for every operation whose
/// gradient can be differentiated (all of this library's): the gradient J^T u is linear in u, so its derivative with
/// respect to u along t is J t (Townsend 2017, "A new trick for calculating Jacobian vector products"). Costs about as
/// much as a gradient with create_graph, independent of the number of inputs. f is called once, on detached copies of
/// the inputs; the result has no history. Throws Error (shape) if tangents do not match the inputs, (dtype) if f does
/// not return f32 or f64.
Jvp jvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& tangents);

/// Result of vjp().
struct Vjp {
  Tensor value;       ///< f(x)
  Tensors gradients;  ///< J(x)^T v, one per input and of its shape and dtype; undefined for i64 and bool inputs
};

/// Vector-Jacobian product (reverse mode): v, of the output's shape and dtype, times the Jacobian of f at the inputs. v
/// may be omitted if f returns a single value. f is called once, on the detached inputs; the results have no
/// history and no grad() is changed. Throws Error (graph) if v is omitted and f returns more than one value, (shape) if
/// v does not match the output, (dtype) if f does not return f32 or f64.
Vjp vjp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensor& v = {});

/// The derivative of f with respect to one of its inputs, as a function of the same inputs. It can be differentiated
/// again, by backward(), or by grad_of() any number of times:
///
///     const auto f = [](const Tensors& in) { return sum(sin(in[0])); };
///     const Tensor third = grad_of(grad_of(grad_of(f)))({scalar(0.5)});  // -cos(0.5)
///
/// The result has a history if an input requires gradients. Throws Error (graph) if f returns more than one value,
/// (index) if the argument does not exist, (dtype) if it is not f32 or f64.
std::function<Tensor(const Tensors&)> grad_of(std::function<Tensor(const Tensors&)> f, size_t argument = 0);

/// Result of hvp().
struct Hvp {
  Tensor value;      ///< f(inputs), or the loss
  Tensors gradient;  ///< one per input
  Tensors product;   ///< (H v)_i = sum_j d^2 f / dx_i dx_j v_j, one per input and of its shape
};

/// Hessian-vector product: the Hessian of f, which must return a single value, at the inputs times v. Differentiates
/// the gradient's product with v (Pearlmutter 1994, "Fast Exact Multiplication by the Hessian") and never forms the
/// Hessian. v has the form of jvp's tangents; i64 and bool inputs have undefined gradients. Throws Error (shape) if v
/// does not match the inputs, (graph) if f returns more than one value or one that does not depend on the inputs.
Hvp hvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& v);
/// The same for a recorded loss and leaves it depends on, such as a model's parameters. The tape is retained.
Hvp hvp(const Tensor& loss, const Tensors& leaves, const Tensors& v);

}  // namespace tape
