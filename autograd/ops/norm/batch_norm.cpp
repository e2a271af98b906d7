#include "autograd/ops/norm/batch_norm.h"

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/channel_norm.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

const Op batch_norm_op({.name = "batch_norm",
                        .formula = {.forward = "y{y} = n<1: ⊙ weight{1}><2: + bias{2}>, n = (x{0} − mean) · r, r = "
                                               "1/√(var + {eps}), <training:of each channel|the running statistics>",
                                    .backward = {"dx{x} = <training:r (g − mean(g) − n ⊙ mean(g ⊙ n))|r g>, g = dy<1: "
                                                 "⊙ weight>",
                                                 "dweight{x} = Σ dy ⊙ n over all but the channels",
                                                 "dbias{x} = Σ dy over all but the channels"}}});

struct BatchNorm : ChannelNorm {
  BatchNorm(const Tensor& x, const BatchNormOptions& given) : ChannelNorm(x, 0, given.eps), options(given) {}

  BatchNormOptions options;
  Tensor running_mean, running_var;  // in the compute dtype; in training undefined if they are not updated

  template <class T>
  void forward(const ForwardCall<T>& c) const {
    Tensor mean = running_mean, var = running_var;
    if (options.training)
      kernels::channel_norm(c).normalize(planes, c.in(0), c.in(1), c.in(2), eps,
                                         {c.at().template out<T>(mean), c.at().template out<T>(var), options.momentum},
                                         c.out(), c.kept(0), c.kept(1));
    else
      kernels::channel_norm(c).normalize_by(planes, c.in(0), c.at().template in<T>(mean), c.at().template in<T>(var),
                                            c.in(1), c.in(2), eps, c.out(), c.kept(0), c.kept(1));
  }
  void backward(const auto& c) const { backward_of(c, options.training ? kernels::MeanOf::x : kernels::MeanOf::given); }
  /// Uses the statistics of the call; the running statistics may have changed since.
  Tensors gradients(const BackwardContext& c) const {
    return reference_gradients(c, {c.saved(0), c.saved(1), c.saved(2)}, 1, [&](const Tensors& in) {
      return Tensors{options.training ? by_batch(in) : by_numbers(in, c.saved(3), c.saved(4))};
    });
  }
  Tensor reference(Inputs in) const {
    if (!options.training) return by_numbers(in, running_mean, rsqrt(running_var + eps));
    const Tensor values = reshape(in[0].detach(), shape());
    if (running_mean.defined()) move(running_mean, mean(values, {0, 2}));
    if (running_var.defined()) move(running_var, var(values, {0, 2}));
    return by_batch(in);
  }

 private:
  Tensor by_batch(Inputs in) const {
    const Tensor n = normalized(reshape(in[0], shape()), {0, 2}, eps);
    return reshape(scaled_channels(n, in[1], in[2]), in[0].shape());
  }
  Tensor by_numbers(Inputs in, const Tensor& mean, const Tensor& rstd) const {
    const Tensor n = (reshape(in[0], shape()) - by_channel(mean)) * by_channel(rstd);
    return reshape(scaled_channels(n, in[1], in[2]), in[0].shape());
  }
  void move(Tensor running, const Tensor& own) const {
    const NoGrad off;
    running.copy_((1 - options.momentum) * running + options.momentum * own);
  }
};

void check_batch(const Tensor& x, const Tensor& running_mean, const Tensor& running_var,
                 const BatchNormOptions& options) {
  check_norm_operand("batch_norm", "running_mean", x, running_mean);
  check_norm_operand("batch_norm", "running_var", x, running_var);
  if (!std::isfinite(options.momentum))
    raise(ErrorKind::config, "batch_norm: momentum must be a number, got {}", options.momentum);
  if (!options.training && !(running_mean.defined() && running_var.defined()))
    raise(ErrorKind::config, "batch_norm: evaluation needs running_mean and running_var");
  if (options.training && x.numel() == x.size(1))
    raise(ErrorKind::shape, "batch_norm: training needs more than one value per channel, x is {}",
          to_string(x.shape()));
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options) {
  check_norm("batch_norm", x, weight, bias, options.eps);
  check_batch(x, running_mean, running_var, options);
  BatchNorm call(x, options);
  const bool moves = options.training && !recomputing() && x.numel() > 0;
  const auto computed = [&](const Tensor& running) {
    const NoGrad off;
    return running.defined() && (moves || !options.training) ? cast(running, compute_dtype(x.dtype())) : Tensor();
  };
  call.running_mean = computed(running_mean), call.running_var = computed(running_var);
  Tensor y = fused(batch_norm_op, {x, weight, bias}, call, {{"training", options.training}, {"eps", options.eps}});
  const auto round_back = [&](Tensor running, const Tensor& moved) {
    const NoGrad off;
    if (moves && running.defined() && moved.dtype() != running.dtype()) running.copy_(moved);
  };
  round_back(running_mean, call.running_mean), round_back(running_var, call.running_var);
  return y;
}

}  // namespace tape
