#include "autograd/ops/norm/softmax.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/norm/softmax.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/op.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

std::function<std::vector<OpSample>()> samples(Tensor (*f)(const Tensor&, int64_t)) {
  return [f] {
    const auto along = [f](const char* label, const Shape& shape, int64_t axis) {
      return OpSample{label, {sample_normal(shape)}, [=](const Tensors& in) { return f(in[0], axis); }};
    };
    std::vector<OpSample> all{along("last", {2, 3, 5}, -1), along("first", {4, 3}, 0), along("middle", {2, 4, 3}, 1),
                              along("one value", {2, 1}, -1), along("empty", {0, 3}, -1)};
    all[3].zero_gradient = true;
    // The hidden value has no influence, so its gradient is zero; the others keep theirs.
    all.push_back({"hidden by -inf", {sample_normal({3, 4})}, [f](const Tensors& in) {
                     const Tensor hidden = gt(arange(4), 2);
                     return masked_fill(f(masked_fill(in[0], hidden, -INFINITY), -1), hidden, 0);
                   }});
    return all;
  };
}

const Op softmax_op({.name = "softmax",
                     .formula = {.forward = "yⱼ = exp xⱼ / Σₖ exp xₖ along the last axis of{y}",
                                 .backward = {"dx = y ⊙ (dy − Σⱼ dyⱼ yⱼ), along the last axis of{y}"}},
                     .traits = {.weighs = true},
                     .samples = samples(softmax)});

const Op log_softmax_op({.name = "log_softmax",
                         .formula = {.forward = "y{y} = x − ln Σⱼ exp xⱼ along the last axis",
                                     .backward = {"dx = dy − softmax(x) ⊙ Σⱼ dyⱼ, along the last axis of{y}"}},
                         .samples = samples(log_softmax)});

enum class Kind { plain, logarithm };

Tensor forward(Kind kind, const Tensor& x, int64_t cols) {
  Tensor y = empty_like(x);
  if (x.numel() == 0) return y;
  dispatch_floating(kind == Kind::plain ? "softmax" : "log_softmax", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernel = kernels::softmax<T>();
    (kind == Kind::plain ? kernel.softmax : kernel.log_softmax)(x.numel() / cols, cols, x.data<T>(),
                                                                y.mutable_data<T>());
  });
  return y;
}

Tensor fused_gradient(Kind kind, const Tensor& y, const Tensor& dy, int64_t cols) {
  Tensor dx = empty_like(y);
  if (y.numel() == 0) return dx;
  dispatch_floating("softmax", y.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto& kernel = kernels::softmax<T>();
    (kind == Kind::plain ? kernel.softmax_backward : kernel.log_softmax_backward)(y.numel() / cols, cols, y.data<T>(),
                                                                                  dy.data<T>(), dx.mutable_data<T>());
  });
  return dx;
}

}  // namespace

/// dy_i/dx_j = y_i (d_ij - y_j), so dx = y (dy - sum(dy y)).
Tensor softmax(const Tensor& x, int64_t axis) {
  if (is_half(x.dtype())) return in_f32(x, [&](const Tensor& wide) { return softmax(wide, axis); });
  axis = x.shape().axis(axis, "softmax");
  if (axis != x.rank() - 1) return transpose(softmax(transpose(x, axis, -1), -1), axis, -1);
  const int64_t cols = x.shape()[axis];
  Tensor y = forward(Kind::plain, x, cols);
  return record(softmax_op, {x}, y, {y},
                [cols](const BackwardContext& c) -> Tensors {
                  const Tensor p = c.saved(0), dy = c.grad();
                  if (!c.create_graph()) return {fused_gradient(Kind::plain, p, dy, cols)};
                  return {p * (dy - sum(dy * p, -1, Dims::keep))};
                },
                {{"axis", axis}});
}

/// dy_i/dx_j = d_ij - e^(y_j), so dx = dy - e^y sum(dy).
Tensor log_softmax(const Tensor& x, int64_t axis) {
  if (is_half(x.dtype())) return in_f32(x, [&](const Tensor& wide) { return log_softmax(wide, axis); });
  axis = x.shape().axis(axis, "log_softmax");
  if (axis != x.rank() - 1) return transpose(log_softmax(transpose(x, axis, -1), -1), axis, -1);
  const int64_t cols = x.shape()[axis];
  Tensor y = forward(Kind::logarithm, x, cols);
  return record(log_softmax_op, {x}, y, {y},
                [cols](const BackwardContext& c) -> Tensors {
                  const Tensor log_p = c.saved(0), dy = c.grad();
                  if (!c.create_graph()) return {fused_gradient(Kind::logarithm, log_p, dy, cols)};
                  if (log_p.numel() == 0) return {dy};
                  // A group of nothing but -inf has no gradient.
                  const Tensor nothing = eq(max(log_p.detach(), -1, Dims::keep), -INFINITY);
                  return {masked_fill(dy - exp(log_p) * sum(dy, -1, Dims::keep), nothing, 0)};
                },
                {{"axis", axis}});
}

}  // namespace tape
