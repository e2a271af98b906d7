#include "autograd/transforms/jacobian.h"

#include "autograd/create.h"
#include "autograd/ops/shape/extents.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/leaves.h"

namespace tape {
namespace {

/// Zeros like x, except for a 1 at one element.
Tensor unit(const Tensor& x, int64_t at) {
  Tensor one = zeros(x.shape(), x.options());
  reshape(one, {one.numel()})[at].fill_(1);
  return one;
}

/// The shape [... of a, ... of b].
Shape joined(const Shape& a, const Shape& b) {
  Shape all = a;
  for (int64_t axis = 0; axis < b.rank(); ++axis) all = all.inserted(all.rank(), b[axis]);
  return all;
}

/// Writes values to `to` at elements begin, begin + step, ...; both have the same dtype.
void put(const Tensor& values, Tensor& to, int64_t begin, int64_t step) {
  put_strided(values, {.rank = 1, .sizes = {values.numel()}, .strides = {step}}, begin, to);
}

/// d rows / d x, computed row by row: one result per x, [... of rows, ... of x].
Tensors by_rows(const Tensor& rows, const Tensors& x) {
  Tensors result;
  for (const Tensor& input : x) result.push_back(zeros(joined(rows.shape(), input.shape()), input.options()));
  if (!rows.requires_grad()) return result;
  for (int64_t row = 0; row < rows.numel(); ++row) {
    const Tensors gradients = weighted_gradients({rows}, {unit(rows, row)}, x);
    for (size_t i = 0; i < x.size(); ++i) put(gradients[i], result[i], row * x[i].numel(), 1);
  }
  return result;
}

/// Computed column by column: the recorded gradient J^T u is differentiated with respect to u.
Tensors by_columns(const Tensor& y, const Tensors& x) {
  Tensors result;
  const Tensor u = zeros_like(y).requires_grad_();
  const Tensors gradients = grad({y}, x, {.gradients = {u}, .create_graph = true, .allow_unused = true});
  for (size_t i = 0; i < x.size(); ++i) {
    result.push_back(zeros(joined(y.shape(), x[i].shape()), y.options()));
    if (!gradients[i].defined()) continue;
    for (int64_t column = 0; column < x[i].numel(); ++column)
      put(weighted_gradients({gradients[i]}, {unit(x[i], column)}, {u})[0], result[i], column, x[i].numel());
  }
  return result;
}

}  // namespace

Tensors jacobian(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs) {
  const EnableGrad recording;
  const Leaves leaves(inputs);
  const Tensors& x = leaves.x;
  const Tensor y = call_checked("jacobian", f, leaves.all);
  int64_t columns = 0;
  for (const Tensor& input : x) columns += input.numel();
  // A column costs about two rows, since the gradient's tape is about twice as long.
  const bool forward = y.requires_grad() && 2 * columns < y.numel();
  return leaves.scatter_to_inputs(forward ? by_columns(y, x) : by_rows(y, x));
}

std::vector<Tensors> hessian(const std::function<Tensor(const Tensors&)>& f, const Tensors& inputs) {
  const EnableGrad recording;
  const Leaves leaves(inputs);
  const Tensors& x = leaves.x;
  const Tensor y = call_checked("hessian", f, leaves.all);
  if (y.numel() != 1)
    raise(ErrorKind::graph, "hessian: the function returned {}; it must return a single value", to_string(y.shape()));
  Tensors gradients(x.size());
  if (y.requires_grad()) gradients = grad({y}, x, {.create_graph = true, .allow_unused = true});
  std::vector<Tensors> result(inputs.size(), Tensors(inputs.size()));
  for (size_t i = 0; i < x.size(); ++i) {
    const Tensor rows = gradients[i].defined() ? gradients[i] : zeros_like(x[i]);
    result[leaves.places[i]] = leaves.scatter_to_inputs(by_rows(rows, x));
  }
  return result;
}

}  // namespace tape
