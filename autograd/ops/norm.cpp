#include "autograd/ops/norm.h"

#include "autograd/broadcast.h"
#include "autograd/create.h"
#include "autograd/kernels/norm.h"
#include "autograd/op.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/unary.h"

namespace tape {
namespace {

const Op layer_norm_op("layer_norm", [] {
  auto call = [](const Tensors& in) {
    return layer_norm(in[0], in.size() > 1 ? in[1] : Tensor(), in.size() > 2 ? in[2] : Tensor());
  };
  return std::vector<OpSample>{
      {"weight and bias", {sample_normal({2, 3, 5}, 1), sample_normal({5}, 2), sample_normal({5}, 3)}, call},
      {"weight alone", {sample_normal({4, 6}, 1), sample_normal({6}, 2)}, call},
      {"plain", {sample_normal({3, 4}, 1)}, call},
      {"one row", {sample_normal({7}, 1), sample_normal({7}, 2), sample_normal({7}, 3)}, call},
      {"no rows", {sample_normal({0, 4}, 1), sample_normal({4}, 2), sample_normal({4}, 3)}, call}};
});

Tensor composed(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor centered = x - mean(x, -1, Dims::keep);
  const Tensor variance = mean(square(centered), -1, Dims::keep);
  Tensor y = centered * rsqrt(variance + eps);
  if (weight.defined()) y = y * weight;
  return bias.defined() ? y + bias : y;
}

/// n = (x - mean) r, r = 1 / sqrt(var + eps), g = dy weight:
/// dx = r (g - mean(g) - n mean(g n)), dweight = sum of dy n, dbias = sum of dy over rows.
Tensors fused_gradients(const BackwardContext& c) {
  const Tensor x = c.saved(0), weight = c.saved(1), mean = c.saved(2), rstd = c.saved(3), dy = c.grad();
  const int64_t cols = x.size(-1);
  Tensor dx, dweight, dbias;
  if (c.needs(0)) dx = empty_like(x);
  if (c.needs(1)) dweight = empty_like(weight);
  if (c.needs(2)) dbias = empty({cols}, x.dtype());
  dispatch_floating("layer_norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto write = [](Tensor& t) { return t.defined() ? t.mutable_data<T>() : nullptr; };
    kernels::norm<T>().layer_norm_backward(x.numel() / cols, cols, x.data<T>(),
                                           weight.defined() ? weight.data<T>() : nullptr, mean.data<T>(),
                                           rstd.data<T>(), dy.data<T>(), write(dx), write(dweight), write(dbias));
  });
  return {dx, dweight, dbias};
}

void check_parameter(const char* name, const Tensor& x, const Tensor& parameter) {
  if (!parameter.defined()) return;
  check_same_dtype("layer_norm", x, parameter);
  if (!(parameter.shape() == Shape{x.size(-1)}))
    raise(ErrorKind::shape, "layer_norm: {} must be [{}] for x {}, got {}", name, x.size(-1), to_string(x.shape()),
          to_string(parameter.shape()));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  if (x.rank() == 0 || x.size(-1) == 0)
    raise(ErrorKind::shape, "layer_norm: nothing to normalize in {}", to_string(x.shape()));
  check_parameter("weight", x, weight);
  check_parameter("bias", x, bias);
  if (Composed::active()) return composed(x, weight, bias, eps);
  const int64_t cols = x.size(-1), rows = x.numel() / cols;
  Tensor y = empty_like(x), mean = empty({rows}, x.dtype()), rstd = empty({rows}, x.dtype());
  dispatch_floating("layer_norm", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::norm<T>().layer_norm(rows, cols, x.data<T>(), weight.defined() ? weight.data<T>() : nullptr,
                                  bias.defined() ? bias.data<T>() : nullptr, static_cast<T>(eps), y.mutable_data<T>(),
                                  mean.mutable_data<T>(), rstd.mutable_data<T>());
  });
  return record(
      layer_norm_op, {x, weight, bias}, y, {x, weight, mean, rstd, bias}, [eps](const BackwardContext& c) -> Tensors {
        if (!c.create_graph()) return fused_gradients(c);
        return twin_gradients(c, {c.saved(0), c.saved(1), c.saved(4)}, 1,
                              [eps](const Tensors& in) { return Tensors{composed(in[0], in[1], in[2], eps)}; });
      });
}

}  // namespace tape
