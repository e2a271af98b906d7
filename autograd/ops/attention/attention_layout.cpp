#include "autograd/ops/attention/attention_layout.h"

#include <algorithm>
#include <cmath>

#include "autograd/kernels/runtime/common/work.h"
#include "autograd/ops/attention/attention_check.h"
#include "autograd/ops/attention/heads.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape::detail {
namespace {

void strides_over(const Tensor& mask, const Shape& scores, int64_t (&strides)[4]) {
  const auto all = broadcast_strides(mask.shape(), scores);
  std::copy(all.begin(), all.begin() + 4, strides);
}

/// Sets scale, masks and dropout, once the sizes are set. Returns the additive mask.
Tensor complete(AttentionLayout& layout, const Tensor& query, const AttentionOptions& options) {
  check_dropout("scaled_dot_product_attention", options.dropout);
  const Shape scores = layout.scores();
  kernels::AttentionShape& s = layout.shape;
  s.precision = MatmulPrecisionScope::current();
  s.scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(s.D)));
  layout.band = options.mask.structure();
  constexpr int64_t kFar = kernels::kNotCausal;
  s.causal_offset = std::clamp(layout.band.causal_offset().value_or(kFar), -kFar, kFar);
  s.first_offset = std::clamp(layout.band.first_offset().value_or(-kFar), -kFar, kFar);
  const int64_t rank = layout.packed_heads ? 4 : query.rank();
  layout.keep = attention_mask("keep", options.mask.keep_mask(), rank, scores);
  const Tensor additive = attention_mask("additive", options.mask.bias(), rank, scores);
  if (layout.keep.defined()) strides_over(layout.keep, scores, s.keep_strides);
  if (additive.defined()) {
    check_additive_dtype(query, additive);
    strides_over(additive, scores, s.additive_strides);
  }
  if (options.dropout > 0) {
    Generator& draws = generator(Stream::dropout);
    s.dropout = options.dropout;
    s.seed = draws.seed();
    s.counter = draws.advance(scores.numel());
  }
  return additive;
}

}  // namespace

/// Splits the heads, [B, H, T, D]; a key or value head is repeated for each query head that shares it.
Tensor AttentionLayout::split(const Tensor& x, int64_t heads) const {
  const Tensor apart = packed_heads ? split_heads(x, heads) : reshape(x, Shape{shape.B, heads, x.size(-2), x.size(-1)});
  if (heads == shape.H) return apart;
  const Tensor repeated = expand(unsqueeze(apart, 2), {shape.B, heads, shape.group, apart.size(-2), apart.size(-1)});
  return reshape(repeated, apart.shape().with(1, shape.H));
}

Mask AttentionLayout::mask(const Tensor& additive) const {
  const Mask mask = keep.defined() ? band & Mask::keep(keep) : band;
  return additive.defined() ? mask & Mask::additive(additive) : mask;
}

Tensor AttentionLayout::visible() const {
  const Mask all = mask({});
  return all.empty() ? Tensor() : all.to_tensor(shape.Tq, shape.Tk);
}

AttentionSteps AttentionLayout::steps(std::span<const Tensor> in) const {
  const MatmulPrecisionScope as_called(shape.precision);
  AttentionSteps steps;
  steps.query = split(in[0], shape.H);
  steps.key = split(gather_kv(in[1], key_rows, shape.Tk), kv_heads());
  steps.value = split(gather_kv(in[2], key_rows, shape.Tk), kv_heads());
  steps.scores = matmul(steps.query, steps.key, {.transpose_b = true}) * shape.scale;
  steps.masked = masked_scores(steps.scores, mask(in[3]));
  steps.probabilities = softmax(steps.masked, -1);
  steps.dropped = shape.dropout > 0 ? seeded_dropout(steps.probabilities, shape.dropout, shape.seed, shape.counter)
                                    : steps.probabilities;
  steps.context = matmul(steps.dropped, steps.value);
  steps.output = packed_heads ? merge_heads(steps.context) : reshape(steps.context, output);
  return steps;
}

void AttentionLayout::count_products(double over_d, double over_dv) const {
  const kernels::AttentionShape& s = shape;
  double pairs = 0;
  for (int64_t i = 0; i < s.Tq; ++i)
    pairs += static_cast<double>(std::max<int64_t>(
        0, std::clamp<int64_t>(i + s.causal_offset + 1, 0, s.Tk) - std::clamp<int64_t>(i + s.first_offset, 0, s.Tk)));
  const double products = over_d * static_cast<double>(s.D) + over_dv * static_cast<double>(s.Dv);
  kernels::flop_counter() += 2 * static_cast<double>(s.B * s.H) * pairs * products;
}

AttentionInputs sdpa_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                            const AttentionOptions& options) {
  check_operands(query, key, value, options.enable_gqa);
  AttentionInputs in{query, key, value, {}, {}};
  const int64_t rank = query.rank();
  const Shape lead = query.shape().slice(0, rank - 2);
  AttentionLayout& layout = in.layout;
  kernels::AttentionShape& s = layout.shape;
  s.H = rank >= 4 ? lead[rank - 3] : 1;
  s.B = rank >= 4 ? lead.slice(0, rank - 3).numel() : lead.numel();
  if (options.enable_gqa) s.group = s.H / key.size(-3);
  s.Tq = query.size(-2), s.Tk = key.size(-2), s.D = query.size(-1), s.Dv = value.size(-1);
  const auto apart = [](int64_t heads, int64_t positions, int64_t width) {
    return kernels::HeadLayout{heads * positions * width, positions * width, width};
  };
  s.q = apart(s.H, s.Tq, s.D), s.out = apart(s.H, s.Tq, s.Dv);
  s.k = apart(layout.kv_heads(), s.Tk, s.D), s.v = apart(layout.kv_heads(), s.Tk, s.Dv);
  layout.output = query.shape().with(rank - 1, s.Dv);
  in.additive = complete(layout, query, options);
  return in;
}

namespace {

/// Attention with `kv_heads` key and value heads over the first kv.length positions.
AttentionInputs packed_heads(const Tensor& query, const KvCacheView& kv, int64_t heads, int64_t kv_heads,
                             const AttentionOptions& options) {
  const int64_t length = kv.length;
  AttentionInputs in{query, kv.key, kv.value, {}, {}};
  AttentionLayout& layout = in.layout;
  layout.packed_heads = true;
  layout.key_rows = kv.rows;
  kernels::AttentionShape& s = layout.shape;
  s.B = query.size(0), s.H = heads, s.group = heads / kv_heads, s.Tq = query.size(1), s.Tk = length;
  s.D = query.size(2) / heads, s.Dv = kv.value.size(2) / kv_heads;
  // The kernel reads key_rows only for few queries, and has no gradients for gathered rows or spare cache capacity.
  const bool packed = layout.key_rows.defined() && s.Tq * s.group > kernels::kFewQueries;
  if (packed || needs_record({query, kv.key, kv.value, options.mask.bias()})) {
    in.key = gather_kv(kv.key, kv.rows, length);
    in.value = gather_kv(kv.value, kv.rows, length);
    layout.key_rows = {};
  }
  const auto packed_layout = [](int64_t of, int64_t positions, int64_t width) {
    const int64_t all = of * width;  // not size(-1): with width 0 any number of heads fits
    return kernels::HeadLayout{positions * all, width, all};
  };
  s.q = packed_layout(heads, s.Tq, s.D), s.out = packed_layout(heads, s.Tq, s.Dv);
  s.k = packed_layout(kv_heads, in.key.size(1), s.D), s.v = packed_layout(kv_heads, in.value.size(1), s.Dv);
  layout.output = {s.B, s.Tq, heads * s.Dv};
  in.additive = complete(layout, query, options);
  return in;
}

}  // namespace

AttentionInputs mha_packed_inputs(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                                  const AttentionOptions& options) {
  const int64_t kv_heads = check_packed_heads(query, key, value, heads, {.grouped = options.enable_gqa});
  return packed_heads(query, {key, value, key.size(1)}, heads, kv_heads, options);
}

AttentionInputs mha_cached_inputs(const Tensor& query, const KvCacheView& cached, int64_t heads,
                                  const AttentionOptions& options) {
  const int64_t kv_heads = check_packed_heads(query, cached.key, cached.value, heads,
                                              {.grouped = options.enable_gqa, .any_rows = cached.rows.defined()});
  return packed_heads(query, checked_cache(cached, query.size(0)), heads, kv_heads, options);
}

}  // namespace tape::detail
