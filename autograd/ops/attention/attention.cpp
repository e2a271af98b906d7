#include "autograd/ops/attention/attention.h"

#include "autograd/create.h"
#include "autograd/kernels/attention/common/attention_dispatch.h"
#include "autograd/ops/attention/attention_call.h"
#include "autograd/ops/attention/attention_layout.h"
#include "autograd/ops/attention/heads.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

using detail::AttentionInputs;
using detail::AttentionLayout;

const Op attention_op({.name = "scaled_dot_product_attention",
                       .formula = {.forward = "y{y} = <dropout_p:D|P> · V{2}, <dropout_p:D = dropout P with p = "
                                              "{dropout_p}, >P = softmax(S + mask), S = {scale} · Q{0} · "
                                              "K{1}ᵀ, for each of {heads} heads<kv_heads:, {kv_heads} of K and V>",
                                   .backward = {"dQ{x} = {scale} · dS · K, dS = P ⊙ (dP − Σⱼ dPⱼ ⊙ Pⱼ), dP = "
                                                "<dropout_p:dropout(dy · Vᵀ)|dy · Vᵀ>",
                                                "dK{x} = {scale} · dSᵀ · Q", "dV{x} = <dropout_p:D|P>ᵀ · dy",
                                                "dmask{x} = dS"}},
                       .traits = {.random = true}});

/// Whether there are kernels for the operands in bf16. They copy operands that are not aligned, except for a cache.
bool computes_in_bf16(const AttentionInputs& in, bool need_weights) {
  constexpr int64_t kAligned = 16;
  const auto is_bf16 = [](const Tensor& x) { return x.dtype() == bf16; };
  const auto readable = [&](const Tensor& x) {
    return !in.layout.key_rows.defined() || x.impl().offset % kAligned == 0;
  };
  return kernels::has_bf16_kernels(kernels::Target{in.query.device()}) && is_bf16(in.query) && is_bf16(in.key) &&
         is_bf16(in.value) && !need_weights && !in.additive.defined() && readable(in.key) && readable(in.value) &&
         kernels::has_bf16_attention(in.layout.shape);
}

/// Inputs are query, key, value and the additive mask; outputs are the result and, if requested, the weights.
struct Attention {
  AttentionLayout layout;
  bool need_weights;
  bool saves_outputs;  ///< for the kernels of bf16
  bool recorded;

  Results<2, 2> results(Inputs in) const {
    const TensorOptions options = in[0].options(), sums{in[0].dtype() == f64 ? f64 : f32, in[0].device()};
    return {{empty(layout.output, options), need_weights ? empty(layout.scores(), options) : Tensor()},
            {empty(layout.scores().slice(0, 3), sums), empty(layout.scores().slice(0, 3), sums)}};
  }
  bool computes_bf16(const kernels::Target&, Inputs) const { return saves_outputs; }
  template <class T>
  void forward(const ForwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    layout.count_products(1, 1);
    kernels::attention_by_precision(c, layout.shape)
        .forward(layout.shape, operands(c),
                 {.out = c.out(),
                  .highest = c.template kept_as<S>(0),
                  .inverse = c.template kept_as<S>(1),
                  .probabilities = c.out(1),
                  .for_backward = recorded});
  }
  template <class T>
  void backward(const BackwardCall<T>& c) const {
    using S = kernels::Sum<T>;
    T *const dq = c.din(0), *const dk = c.din(1), *const dv = c.din(2);
    layout.count_products(1 + (dq != nullptr) + (dk != nullptr), 1 + (dv != nullptr));
    kernels::attention_by_precision(c, layout.shape)
        .backward(layout.shape, operands(c),
                  {.highest = c.template kept_as<S>(0),
                   .inverse = c.template kept_as<S>(1),
                   .dout = c.dout(),
                   .dprobabilities = c.dout(1),
                   .dq = dq,
                   .dk = dk,
                   .dv = dv,
                   .dadditive = c.din(3),
                   .out = c.out()});
  }
  std::array<Tensor, 2> reference(Inputs in) const {
    const AttentionSteps steps = layout.steps(in);
    // A separate node for the weights, as in the fused operation: their gradient does not include the output's.
    return {steps.output, need_weights ? alias(steps.probabilities) : Tensor()};
  }
  /// The kernel does not reduce the gradient of the additive mask over broadcast axes.
  Tensor new_gradient(size_t i, const Tensor& saved) const {
    return i == 3 ? empty(layout.scores(), saved.options()) : empty_like(saved);
  }
  std::array<Tensor, 2> constants() const { return {layout.keep, layout.key_rows}; }
  void computed(Inputs in, Inputs outputs) const {
    notify_attention([&] { return described(in, outputs); });
  }

 private:
  template <class Call>
  auto operands(const Call& c) const {
    const Tensor& rows = layout.key_rows;
    return kernels::AttentionOperands<std::remove_cvref_t<decltype(*c.in(0))>>{
        .q = c.in(0),
        .k = c.in(1),
        .v = c.in(2),
        .keep = c.template constant<bool>(0),
        .additive = c.in(3),
        .rows = c.template constant<int64_t>(1),
        .rows_stride = rows.defined() ? rows.size(1) : 0};
  }
  /// The call as observers see it, with only the valid keys and values, gathered by row.
  AttentionCall described(Inputs in, Inputs outputs) const {
    AttentionLayout counted = layout;
    counted.key_rows = {};
    const auto count = [this](const Tensor& x) { return gather_kv(x, layout.key_rows, layout.shape.Tk); };
    return {.inputs = {in[0], count(in[1]), count(in[2]), in[3]},
            .output = outputs[0],
            .weights = outputs[1],
            .heads = layout.shape.H,
            .visible = [counted] { return counted.visible(); },
            .steps = [counted](const Tensors& inputs) { return counted.steps(inputs); }};
  }
};

/// The returned weights are undefined unless requested by the caller or an observer.
AttentionResult attend(const AttentionInputs& in, bool need_weights) {
  const AttentionLayout& layout = in.layout;
  const kernels::AttentionShape& s = layout.shape;
  const bool weights_needed = need_weights || attention_weights_requested();
  const bool recorded = needs_record({in.query, in.key, in.value, in.additive});
  auto [output, weights] = fused(attention_op, {in.query, in.key, in.value, in.additive},
                                 Attention{layout, weights_needed, computes_in_bf16(in, weights_needed), recorded},
                                 {{"heads", s.H},
                                  {"scale", s.scale},
                                  {"causal_offset", layout.band.causal_offset()},
                                  {"first_offset", layout.band.first_offset()},
                                  {"kv_heads", s.group > 1 ? std::optional(layout.kv_heads()) : std::nullopt},
                                  {"dropout_p", s.dropout}});
  return {std::move(output), std::move(weights)};
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  return attend(detail::sdpa_inputs(query, key, value, options), false).output;
}

AttentionResult scaled_dot_product_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                          const AttentionOptions& options) {
  AttentionResult result = attend(detail::sdpa_inputs(query, key, value, options), true);
  result.weights = reshape(result.weights, query.shape().with(query.rank() - 1, result.weights.size(-1)));
  return result;
}

Tensor multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                            const AttentionOptions& options) {
  return attend(detail::mha_packed_inputs(query, key, value, heads, options), false).output;
}

AttentionResult multi_head_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  int64_t heads, const AttentionOptions& options) {
  return attend(detail::mha_packed_inputs(query, key, value, heads, options), true);
}

Tensor multi_head_attention(const Tensor& query, const KvCacheView& cached, int64_t heads,
                            const AttentionOptions& options) {
  return attend(detail::mha_cached_inputs(query, cached, heads, options), false).output;
}

AttentionResult multi_head_attention_with_weights(const Tensor& query, const KvCacheView& cached, int64_t heads,
                                                  const AttentionOptions& options) {
  return attend(detail::mha_cached_inputs(query, cached, heads, options), true);
}

}  // namespace tape
