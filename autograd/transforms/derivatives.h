#pragma once

#include <functional>

#include "../tensor.h"

namespace tape {

/// A function's value and what a direction makes of it.
struct Jvp {
  Tensor value;    ///< f(x)
  Tensor tangent;  ///< J(x) t, of the value's shape: how fast f(x) changes where x moves along t
};

/// Forward mode: the Jacobian of f at the inputs times the tangents, one an input and of its shape and dtype; an
/// undefined tangent is zero, and i64 and bool inputs have none. Works for every operation whose gradient can be
/// differentiated (all of this library's): the gradient J^T u is linear in u, so its derivative with respect to u along
/// t is J t (Townsend 2017, "A new trick for calculating Jacobian vector products"). Costs about as much as a gradient
/// with create_graph; independent of the number of inputs. f is called once, on leaves of its own; the result has no
/// history. Error (shape) where tangents do not fit the inputs, (dtype) where f gives no f32 or f64.
Jvp jvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& tangents);

/// A function's value and what weights of its output make of its inputs.
struct Vjp {
  Tensor value;       ///< f(x)
  Tensors gradients;  ///< J(x)^T v, one an input and of its shape and dtype; undefined for i64 and bool inputs
};

/// Reverse mode: v, of the output's shape and dtype, times the Jacobian of f at the inputs; without v that of a single
/// number. f is called once, on leaves of its own; the results have no history, and no grad() is touched. Error (graph)
/// where v is missing and f gives more than one number, (shape) where v does not fit, (dtype) where f gives no f32 or
/// f64.
Vjp vjp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensor& v = {});

/// The derivative of f with respect to one of its inputs, as a function of the same inputs that can be differentiated
/// in its turn, by backward(), or by grad_of() any number of times:
///
///     const auto f = [](const Tensors& in) { return sum(sin(in[0])); };
///     const Tensor third = grad_of(grad_of(grad_of(f)))({scalar(0.5)});  // -cos(0.5)
///
/// The result has a history where an input requires gradients. Error (graph) where f gives more than one number,
/// (index) for an argument that is not there, (dtype) for one that is not f32 or f64.
std::function<Tensor(const Tensors&)> grad_of(std::function<Tensor(const Tensors&)> f, size_t argument = 0);

/// A function's value, its gradient, and the change of the gradient along a direction.
struct Hvp {
  Tensor value;
  Tensors gradient;  ///< one an input
  Tensors product;   ///< (H v)_i = sum_j d^2 f / dx_i dx_j v_j, one an input and of its shape
};

/// The Hessian of f, a single number, at the inputs times v, by differentiating the gradient's product with v
/// (Pearlmutter 1994, "Fast Exact Multiplication by the Hessian"): never the Hessian itself. v as jvp's tangents; i64
/// and bool inputs have undefined gradients. Error (shape) where v does not fit the inputs, (graph) where f gives more
/// than one number or one that does not depend on the inputs.
Hvp hvp(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs, const Tensors& v);
/// The same for a loss that is recorded already and the leaves it was made from: a model's parameters. The tape stays.
Hvp hvp(const Tensor& loss, const Tensors& leaves, const Tensors& v);

}  // namespace tape
