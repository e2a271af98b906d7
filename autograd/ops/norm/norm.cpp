#include "autograd/ops/norm/norm.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/kernels/norm/norm.h"
#include "autograd/ops/check.h"
#include "autograd/ops/deferred/dropped_sum.h"
#include "autograd/ops/deferred/norm_totals.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/channel_norm.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

/// Sum of dy over each sample's rows, [B, cols].
Tensor rows_summed(const Tensor& dy, const PerSampleCall& call) {
  return sum(reshape(samples_first(dy, call.axis, call.samples), {call.samples, -1, dy.size(-1)}), 1);
}

/// dweight_b sums dy_b n_b over rows, dbias_b sums dy_b.
Tensor layer_norm_per_sample(const PerSampleCall& call) {
  if (call.input == 0) return {};
  if (call.input == 2) return rows_summed(call.gradient, call);
  const Tensor n = layer_norm(call.inputs[0].detach(), {}, {}, *call.node.attributes.get<double>("eps"));
  return rows_summed(call.gradient * n, call);
}

Tensor rms_norm_per_sample(const PerSampleCall& call) {
  if (call.input == 0) return {};
  const Tensor n = rms_norm(call.inputs[0].detach(), {}, *call.node.attributes.get<double>("eps"));
  return rows_summed(call.gradient * n, call);
}

const Op layer_norm_op({.name = "layer_norm",
                        .formula = {.forward = "y{y} = n<1: ⊙ weight{1}><2: + bias{2}>, n = (x − mean) · r, r = "
                                               "1/√(var + {eps}), over the last axis",
                                    .backward = {"dx{x} = r (g − mean(g) − n ⊙ mean(g ⊙ n)), g = dy<1: ⊙ weight>",
                                                 "dweight{x} = Σ rows of dy ⊙ n", "dbias{x} = Σ rows of dy"}},
                        .per_sample = layer_norm_per_sample,
                        .recompute = [](const Tensors& saved, const Attributes& given) {
                          return layer_norm(saved[0], saved[1], saved[2], *given.get<double>("eps"));
                        }});

const Op rms_norm_op({.name = "rms_norm",
                      .formula = {.forward = "y{y} = n<1: ⊙ weight{1}>, n = x · r, r = 1/√(mean(x²) + {eps}), over "
                                             "the last axis",
                                  .backward = {"dx{x} = r (g − n ⊙ mean(g ⊙ n)), g = dy<1: ⊙ weight>",
                                               "dweight{x} = Σ rows of dy ⊙ n"}},
                      .per_sample = rms_norm_per_sample,
                      .recompute = [](const Tensors& saved, const Attributes& given) {
                        return rms_norm(saved[0], saved[1], *given.get<double>("eps"));
                      }});

/// Rows of x or of a gradient of its shape.
struct Rows {
  int64_t rows, cols;
  explicit Rows(const Tensor& x) : rows(x.numel() / x.size(-1)), cols(x.size(-1)) {}
};

/// Dtype and device of the statistics of x.
TensorOptions statistics(const Tensor& x) { return {compute_dtype(x.dtype()), x.device()}; }

/// Whether the kernels take bf16 values, with parameters in f32.
bool takes_bf16(const kernels::Target& target, Inputs in) {
  const auto is_f32 = [](const Tensor& parameter) { return !parameter.defined() || parameter.dtype() == f32; };
  return kernels::has_bf16_kernels(target) && std::ranges::all_of(in.subspan(1), is_f32);
}

/// Memory for the gradient of an input. Those of parameters are computed late on a GPU.
Tensor new_norm_gradient(size_t i, const Tensor& input) {
  return i == 0 ? empty_like(input) : empty_result(input.shape(), input.options());
}

/// What the backward pass of a norm writes besides dx and leaves for later. Inputs 1 and, with a bias, 2 are
/// parameters.
template <class T>
class LateGradients {
 public:
  LateGradients(const BackwardCall<T>& c, const Rows& of, bool has_bias)
      : c_(c), dweight_(c.gradient(1)), dbias_(has_bias ? c.gradient(2) : Tensor()) {
    const TensorOptions options = statistics(c.input(0));
    if (dweight_.defined() || dbias_.defined()) {
      sums_ = empty({kernels::norm(c).parts(of.rows, of.cols), 2, of.cols}, options);
      more_.sums = c.at().template out<kernels::Sum<T>>(sums_);
    }
    const kernels::Dropout* const dropout = dropout_in_sum(c.input(0));
    if (dropout && c.gradient(0).defined()) {
      dropped_ = empty_like(c.gradient(0));
      more_.dropout = *dropout;
      more_.dropped = c.at().template out<T>(dropped_);
    }
  }
  const kernels::NormGradients<T>& more() const { return more_; }
  /// After the pass.
  void keep() {
    if (dropped_.defined()) keep_dropped(c_.gradient(0), more_.dropout, dropped_);
    if (sums_.defined()) defer_norm_totals(c_.at(), sums_, dweight_, dbias_);
  }

 private:
  const BackwardCall<T>& c_;
  Tensor dweight_, dbias_, sums_, dropped_;
  kernels::NormGradients<T> more_;
};

struct LayerNorm {
  Rows of;
  double eps;
  static constexpr bool adds_gradient = true;

  Results<1, 2> results(Inputs in) const {
    return {{empty_like(in[0])}, {empty({of.rows}, statistics(in[0])), empty({of.rows}, statistics(in[0]))}};
  }
  Tensor new_gradient(size_t i, const Tensor& saved) const { return new_norm_gradient(i, saved); }
  bool computes_bf16(const kernels::Target& target, Inputs in) const { return takes_bf16(target, in); }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    const auto& table = kernels::norm(c);
    const S *const weight = c.parameter(1), *const bias = c.parameter(2);
    S *const mean = c.template kept_as<S>(0), *const rstd = c.template kept_as<S>(1);
    T* const y = c.out();
    const auto call = [&](const auto kernel, const auto& x) {
      kernel(of.rows, of.cols, x, weight, bias, eps, y, mean, rstd);
    };
    if (!launch_with_dropped_sum<T>(c.input(0), [&](const auto& sum) { call(table.layer_norm_of_sum, sum); }))
      call(table.layer_norm, c.in(0));
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    const auto& table = kernels::norm(c);
    const auto call = [&](const auto kernel, const auto&... parameters) {
      kernel(of.rows, of.cols, c.in(0), c.parameter(1), c.template kept_as<S>(0), c.template kept_as<S>(1), c.dout(),
             c.added(), c.din(0), parameters...);
    };
    if (!may_defer(c.at())) return call(table.layer_norm_backward, c.dparameter(1), c.dparameter(2));
    LateGradients<T> late(c, of, true);
    call(table.layer_norm_backward_in_parts, late.more());
    late.keep();
  }
  Tensor reference(Inputs in) const {
    const Tensor &x = in[0], &weight = in[1], &bias = in[2];
    const Tensor centered = x - mean(x, -1, Dims::keep);
    const Tensor variance = mean(square(centered), -1, Dims::keep);
    Tensor y = centered * rsqrt(variance + eps);
    if (weight.defined()) y = y * weight;
    return bias.defined() ? y + bias : y;
  }
};

struct RmsNorm {
  Rows of;
  double eps;
  static constexpr bool adds_gradient = true;

  Results<1, 1> results(Inputs in) const { return {{empty_like(in[0])}, {empty({of.rows}, statistics(in[0]))}}; }
  Tensor new_gradient(size_t i, const Tensor& saved) const { return new_norm_gradient(i, saved); }
  bool computes_bf16(const kernels::Target& target, Inputs in) const { return takes_bf16(target, in); }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    const auto& table = kernels::norm(c);
    const S* const weight = c.parameter(1);
    S* const rstd = c.template kept_as<S>(0);
    T* const y = c.out();
    const auto call = [&](const auto kernel, const auto& x) { kernel(of.rows, of.cols, x, weight, eps, y, rstd); };
    if (!launch_with_dropped_sum<T>(c.input(0), [&](const auto& sum) { call(table.rms_norm_of_sum, sum); }))
      call(table.rms_norm, c.in(0));
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    const auto& table = kernels::norm(c);
    const auto call = [&](const auto kernel, const auto&... parameters) {
      kernel(of.rows, of.cols, c.in(0), c.parameter(1), c.template kept_as<S>(0), c.dout(), c.added(), c.din(0),
             parameters...);
    };
    if (!may_defer(c.at())) return call(table.rms_norm_backward, c.dparameter(1));
    LateGradients<T> late(c, of, false);
    call(table.rms_norm_backward_in_parts, late.more());
    late.keep();
  }
  Tensor reference(Inputs in) const {
    const Tensor &x = in[0], &weight = in[1];
    const Tensor y = x * rsqrt(mean(square(x), -1, Dims::keep) + eps);
    return weight.defined() ? y * weight : y;
  }
};

void check_input(const char* op, const Tensor& x, double eps) {
  check_floating(op, x);
  if (!(eps >= 0)) raise(ErrorKind::config, "{}: eps must be 0 or more, got {}", op, eps);
  if (x.rank() == 0 || x.size(-1) == 0)
    raise(ErrorKind::shape, "{}: nothing to normalize in {}", op, to_string(x.shape()));
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  check_input("layer_norm", x, eps);
  check_norm_operand("layer_norm", "weight", x, weight, -1);
  check_norm_operand("layer_norm", "bias", x, bias, -1);
  return fused(layer_norm_op, {x, weight, bias}, LayerNorm{Rows(x), eps}, {{"eps", eps}});
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  check_input("rms_norm", x, eps);
  check_norm_operand("rms_norm", "weight", x, weight, -1);
  return fused(rms_norm_op, {x, weight}, RmsNorm{Rows(x), eps}, {{"eps", eps}});
}

}  // namespace tape
