#include "autograd/ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/attention/common/attention_choice.h"
#include "autograd/kernels/runtime/common/work.h"
#include "autograd/ops/attention/attention_call.h"
#include "autograd/ops/attention/attention_check.h"
#include "autograd/ops/attention/attention_samples.h"
#include "autograd/ops/attention/heads.h"
#include "autograd/ops/check.h"
#include "autograd/ops/data_or_null.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

using detail::attention_mask;
using detail::check_key_length;
using detail::check_key_rows;
using detail::check_operands;
using detail::check_side_by_side;

/// Of each head, with the K and V of its group:
/// S = scale Q K^T + M, P = softmax S, D = dropout P, O = D V;
/// dV = D^T dO, dP = dropout(dO V^T), dS = P (dP - rowsum(dP P)), dQ = scale dS K, dK = scale dS^T Q, dM = dS;
/// heads of one group add their dK and dV.
const Op attention_op({.name = "scaled_dot_product_attention",
                       .formula = {.forward = "y{y} = <dropout_p:D|P> · V{2}, <dropout_p:D = dropout P with p = "
                                              "{dropout_p}, >P = softmax(S + mask), S = {scale} · Q{0} · "
                                              "K{1}ᵀ, for each of {heads} heads<kv_heads:, {kv_heads} of K and V>",
                                   .backward = {"dQ{x} = {scale} · dS · K, dS = P ⊙ (dP − Σⱼ dPⱼ ⊙ Pⱼ), dP = "
                                                "<dropout_p:dropout(dy · Vᵀ)|dy · Vᵀ>",
                                                "dK{x} = {scale} · dSᵀ · Q", "dV{x} = <dropout_p:D|P>ᵀ · dy",
                                                "dmask{x} = dS"}},
                       .traits = {.random = true},
                       .samples = detail::attention_samples});

/// One call, with its operands brought to [B, H, T, D] in meaning, if not in memory.
struct Call {
  kernels::AttentionShape shape;
  bool side_by_side = false;  // operands are [B, T, H D]
  Tensor keep;                // bool, of four axes, or undefined
  Tensor key_rows;            // i64 [B, at least Tk], or undefined
  Mask band;                  // the causal part and the window

  /// Heads apart, [B, H, T, D]; those that several query heads share once for each.
  Tensor split(const Tensor& x, bool shared) const {
    const int64_t heads = shared ? kv_heads() : shape.H;
    Tensor apart = side_by_side ? split_heads(x, heads) : reshape(x, Shape{shape.B, heads, x.size(-2), x.size(-1)});
    if (heads == shape.H) return apart;
    const Tensor repeated = expand(unsqueeze(apart, 2), {shape.B, heads, shape.group, x.size(-2), apart.size(-1)});
    return reshape(repeated, apart.shape().with(1, shape.H));
  }
  Tensor merge(const Tensor& x, const Shape& like) const { return side_by_side ? merge_heads(x) : reshape(x, like); }
  int64_t kv_heads() const { return shape.H / shape.group; }
  /// What hides keys, and with `added` what is added to the scores.
  Mask mask(const Tensor& added = {}) const {
    const Mask mask = keep.defined() ? band & Mask::keep(keep) : band;
    return added.defined() ? mask & Mask::additive(added) : mask;
  }
  /// true where a query sees a key, broadcast to [B, H, Tq, Tk]; undefined where it sees all.
  Tensor visible() const { return mask().hides_nothing() ? Tensor() : mask().visible(shape.Tq, shape.Tk); }
  Shape weights_shape() const { return {shape.B, shape.H, shape.Tq, shape.Tk}; }
};

/// Counts so many products of all visible pairs of a query and a key, each over a head's width.
void count_products(const kernels::AttentionShape& s, double over_d, double over_dv) {
  double pairs = 0;
  for (int64_t i = 0; i < s.Tq; ++i)
    pairs += static_cast<double>(std::max<int64_t>(
        0, std::clamp<int64_t>(i + s.causal_offset + 1, 0, s.Tk) - std::clamp<int64_t>(i + s.first_offset, 0, s.Tk)));
  const double products = over_d * static_cast<double>(s.D) + over_dv * static_cast<double>(s.Dv);
  kernels::flops_asked() += 2 * static_cast<double>(s.B * s.H) * pairs * products;
}

/// The composed twin: every step of the formula as an operation. `in` is query, key, value and the additive mask.
AttentionSteps steps_of(const Call& call, const Tensors& in, const Shape& out_shape) {
  const MatmulPrecisionScope as_called(call.shape.precision);
  AttentionSteps steps;
  steps.query = call.split(in[0], false), steps.key = call.split(in[1], true), steps.value = call.split(in[2], true);
  steps.scores = matmul(steps.query, steps.key, {.transpose_b = true}) * call.shape.scale;
  steps.masked = masked_scores(steps.scores, call.mask(in[3]));
  steps.probabilities = softmax(steps.masked, -1);
  steps.dropped = call.shape.dropout > 0
                      ? dropout_at(steps.probabilities, call.shape.dropout, call.shape.seed, call.shape.counter)
                      : steps.probabilities;
  steps.context = matmul(steps.dropped, steps.value);
  steps.output = call.merge(steps.context, out_shape);
  return steps;
}

Tensors composed(const Call& call, const Tensors& in, const Shape& out_shape) {
  const AttentionSteps steps = steps_of(call, in, out_shape);
  return {steps.output, steps.probabilities};
}

/// What observers are told of a call.
AttentionCall described(const Call& call, const Tensors& in, const Shape& out_shape, const AttentionResult& result) {
  // Keys may have room behind them, and lie in other rows.
  const auto counted = [&call](const Tensor& x) { return counted_positions(x, call.key_rows, call.shape.Tk); };
  return {.inputs = {in[0], counted(in[1]), counted(in[2]), in[3]},
          .output = result.output,
          .weights = result.weights,
          .heads = call.shape.H,
          .visible = [call] { return call.visible(); },
          .steps = [call, out_shape](const Tensors& inputs) { return steps_of(call, inputs, out_shape); }};
}

template <class T>
kernels::AttentionOperands<T> operands_of(const Call& call, const Tensor& query, const Tensor& key, const Tensor& value,
                                          const Tensor& added) {
  return {.q = query.data<T>(),
          .k = key.data<T>(),
          .v = value.data<T>(),
          .keep = data_or_null<bool>(call.keep),
          .additive = data_or_null<T>(added),
          .rows = data_or_null<int64_t>(call.key_rows),
          .rows_stride = call.key_rows.defined() ? call.key_rows.size(1) : 0};
}

/// The kernels of a type; floats' by the precision asked for when the call was made.
template <class T>
const kernels::AttentionKernels<T>& kernels_of(const Call& call) {
  if constexpr (std::is_same_v<T, float>)
    return kernels::attention_by_precision(call.shape);
  else
    return kernels::attention<T>();
}

Tensors fused_gradients(const Call& call, const BackwardContext& c) {
  const Tensor query = c.saved(0), key = c.saved(1), value = c.saved(2), added = c.saved(3), highest = c.saved(4),
               dout = c.grad();
  count_products(call.shape, 3, 2);
  Tensor dquery = empty_like(query), dkey = empty_like(key), dvalue = empty_like(value), dadded;
  if (c.needs(3)) dadded = empty(call.weights_shape(), query.dtype());
  dispatch_floating("scaled_dot_product_attention", query.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels_of<T>(call).backward(call.shape, operands_of<T>(call, query, key, value, added),
                                 {.highest = highest.data<T>(),
                                  .dout = dout.data<T>(),
                                  .dprobabilities = c.has_grad(1) ? c.grad(1).data<T>() : nullptr,
                                  .dq = dquery.mutable_data<T>(),
                                  .dk = dkey.mutable_data<T>(),
                                  .dv = dvalue.mutable_data<T>(),
                                  .dadditive = mutable_data_or_null<T>(dadded)});
  });
  return {dquery, dkey, dvalue, dadded};
}

AttentionResult fused(const Call& call, const Tensors& in, const Shape& out_shape, bool want_weights) {
  const DType dtype = in[0].dtype();
  Tensor out = empty(out_shape, dtype), highest = empty(call.weights_shape().slice(0, 3), dtype), weights;
  if (want_weights) weights = empty(call.weights_shape(), dtype);
  count_products(call.shape, 1, 1);
  dispatch_floating("scaled_dot_product_attention", dtype, [&](auto zero) {
    using T = decltype(zero);
    kernels_of<T>(call).forward(call.shape, operands_of<T>(call, in[0], in[1], in[2], in[3]),
                                {.out = out.mutable_data<T>(),
                                 .highest = highest.mutable_data<T>(),
                                 .probabilities = mutable_data_or_null<T>(weights)});
  });
  const size_t count = want_weights ? 2 : 1;
  record_many(attention_op, in, want_weights ? Tensors{out, weights} : Tensors{out},
              {in[0], in[1], in[2], in[3], highest},
              [call, out_shape, count](const BackwardContext& c) -> Tensors {
                if (!c.create_graph()) return fused_gradients(call, c);
                return twin_gradients(c, {c.saved(0), c.saved(1), c.saved(2), c.saved(3)}, count,
                                      [&](const Tensors& inputs) { return composed(call, inputs, out_shape); });
              },
              {{"heads", call.shape.H},
               {"scale", call.shape.scale},
               {"causal_offset", call.band.causal_offset()},
               {"first_offset", call.band.first_offset()},
               {"kv_heads", call.shape.group > 1 ? std::optional(call.kv_heads()) : std::nullopt},
               {"dropout_p", call.shape.dropout}});
  return {out, weights};
}

/// Runs a call whose operands were checked. Weights are undefined unless wanted, by the caller or an observer.
AttentionResult attend(const Call& call, const Tensors& in, const Shape& out_shape, bool want_weights) {
  AttentionResult result;
  want_weights = want_weights || attention_weights_wanted();
  if (Composed::active()) {
    const Tensors steps = composed(call, in, out_shape);
    // Weights are a node of their own, as the fused operation's are: their gradient is not the output's as well.
    result = {steps[0], want_weights ? alias(steps[1]) : Tensor()};
  } else {
    result = fused(call, in, out_shape, want_weights);
  }
  tell_attended([&] { return described(call, in, out_shape, result); });
  return result;
}

void strides_over(const Tensor& mask, const Shape& scores, int64_t (&strides)[4]) {
  const auto all = broadcast_strides(mask.shape(), scores);
  std::copy(all.begin(), all.begin() + 4, strides);
}

/// Masks, scale and dropout, once the sizes are known. Returns the additive mask.
Tensor complete(Call& call, const Tensor& query, const AttentionOptions& options) {
  check_dropout("scaled_dot_product_attention", options.dropout);
  const Shape scores = call.weights_shape();
  call.shape.precision = MatmulPrecisionScope::current();
  call.shape.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(call.shape.D)));
  call.band = options.mask.band();
  constexpr int64_t kFar = kernels::kNotCausal;
  call.shape.causal_offset = std::clamp(call.band.causal_offset().value_or(kFar), -kFar, kFar);
  call.shape.first_offset = std::clamp(call.band.first_offset().value_or(-kFar), -kFar, kFar);
  call.keep = attention_mask("keep", options.mask.kept(), call.side_by_side ? 4 : query.rank(), scores);
  Tensor added = attention_mask("additive", options.mask.added(), call.side_by_side ? 4 : query.rank(), scores);
  if (call.keep.defined()) strides_over(call.keep, scores, call.shape.keep_strides);
  if (added.defined()) {
    check_same_dtype("scaled_dot_product_attention", query, added);
    strides_over(added, scores, call.shape.additive_strides);
  }
  if (options.dropout > 0) {
    Generator& draws = generator(Stream::dropout);
    call.shape.dropout = options.dropout;
    call.shape.seed = draws.seed();
    call.shape.counter = draws.advance(scores.numel());
  }
  return added;
}

/// Of keys and values that all count, each in its row.
AttentionOptions of_all_keys(AttentionOptions options) {
  options.key_length.reset();
  options.key_rows = {};
  return options;
}

AttentionResult attend_heads_apart(const Tensor& query, const Tensor& key, const Tensor& value,
                                   const AttentionOptions& options, bool want_weights) {
  check_operands(query, key, value, options.enable_gqa);
  if (options.key_rows.defined())
    raise(ErrorKind::config, "scaled_dot_product_attention: key_rows are of heads side by side (multi_head_attention)");
  check_key_length("scaled_dot_product_attention", options, key);
  if (options.key_length.value_or(key.size(-2)) < key.size(-2))
    return attend_heads_apart(query, slice(key, -2, {.end = *options.key_length}),
                              slice(value, -2, {.end = *options.key_length}), of_all_keys(options), want_weights);
  const int64_t rank = query.rank();
  const Shape lead = query.shape().slice(0, rank - 2);
  Call call;
  kernels::AttentionShape& s = call.shape;
  s.H = rank >= 4 ? lead[rank - 3] : 1;
  s.B = rank >= 4 ? lead.slice(0, rank - 3).numel() : lead.numel();
  if (options.enable_gqa) s.group = s.H / key.size(-3);
  s.Tq = query.size(-2), s.Tk = key.size(-2), s.D = query.size(-1), s.Dv = value.size(-1);
  const auto apart = [](int64_t heads, int64_t length, int64_t width) {
    return kernels::HeadLayout{heads * length * width, length * width, width};
  };
  s.q = apart(s.H, s.Tq, s.D), s.out = apart(s.H, s.Tq, s.Dv);
  s.k = apart(call.kv_heads(), s.Tk, s.D), s.v = apart(call.kv_heads(), s.Tk, s.Dv);
  const Tensor added = complete(call, query, options);
  AttentionResult result = attend(call, {query, key, value, added}, query.shape().with(rank - 1, s.Dv), want_weights);
  if (want_weights) result.weights = reshape(result.weights, query.shape().with(rank - 1, s.Tk));
  return result;
}

AttentionResult attend_side_by_side(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                                    const AttentionOptions& options, bool want_weights) {
  const int64_t kv_heads = check_side_by_side(query, key, value, heads, options);
  const int64_t capacity = key.size(1), length = options.key_length.value_or(capacity);
  check_key_length("multi_head_attention", options, key);
  // Room, and rows elsewhere, have neither steps nor gradients.
  const Tensor& rows = options.key_rows;
  if (rows.defined()) check_key_rows(rows, query.size(0), key.size(0), length);
  const bool in_steps = Composed::active() || needs_record({query, key, value, options.mask.added()});
  const bool packed = query.size(1) * (heads / kv_heads) > kernels::kFewQueries;
  if (rows.defined() ? in_steps || packed : in_steps && length < capacity)
    return attend_side_by_side(query, counted_positions(key, rows, length), counted_positions(value, rows, length),
                               heads, of_all_keys(options), want_weights);
  Call call;
  call.side_by_side = true;
  call.key_rows = rows;
  kernels::AttentionShape& s = call.shape;
  s.B = query.size(0), s.H = heads, s.group = heads / kv_heads, s.Tq = query.size(1), s.Tk = length;
  s.D = query.size(2) / heads, s.Dv = value.size(2) / kv_heads;
  const auto beside = [](int64_t of, int64_t positions, int64_t width) {
    const int64_t all = of * width;  // of no width there may be any number of heads
    return kernels::HeadLayout{positions * all, width, all};
  };
  s.q = beside(heads, s.Tq, s.D), s.out = beside(heads, s.Tq, s.Dv);
  s.k = beside(kv_heads, capacity, s.D), s.v = beside(kv_heads, capacity, s.Dv);
  const Tensor added = complete(call, query, options);
  return attend(call, {query, key, value, added}, {s.B, s.Tq, heads * s.Dv}, want_weights);
}

/// f in f32 of halves, and what comes out rounded back.
template <class F>
AttentionResult in_floats(const Tensor& query, const Tensor& key, const Tensor& value, const F& f) {
  if (!is_half(query.dtype())) return f(query, key, value);
  check_same_dtype("scaled_dot_product_attention", query, key);
  check_same_dtype("scaled_dot_product_attention", query, value);
  const AttentionResult wide = f(cast(query, f32), cast(key, f32), cast(value, f32));
  return {cast(wide.output, query.dtype()), wide.weights.defined() ? cast(wide.weights, query.dtype()) : Tensor()};
}

AttentionResult attend_apart(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionOptions& options, bool want_weights) {
  return in_floats(query, key, value, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attend_heads_apart(q, k, v, options, want_weights);
  });
}

AttentionResult attend_beside(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                              const AttentionOptions& options, bool want_weights) {
  return in_floats(query, key, value, [&](const Tensor& q, const Tensor& k, const Tensor& v) {
    return attend_side_by_side(q, k, v, heads, options, want_weights);
  });
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  return attend_apart(query, key, value, options, false).output;
}

AttentionResult scaled_dot_product_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                          const AttentionOptions& options) {
  return attend_apart(query, key, value, options, true);
}

Tensor multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                            const AttentionOptions& options) {
  return attend_beside(query, key, value, heads, options, false).output;
}

AttentionResult multi_head_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  int64_t heads, const AttentionOptions& options) {
  return attend_beside(query, key, value, heads, options, true);
}

}  // namespace tape
