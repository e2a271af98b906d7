#pragma once

#include <span>

#include "../../kernels/attention/attention.h"
#include "../../mask.h"
#include "attention.h"
#include "attention_call.h"

namespace tape::detail {

/// Everything about a call of attention except its operands: sizes, memory layout, masks and dropout draws.
struct AttentionLayout {
  kernels::AttentionShape shape;
  bool packed_heads = false;  ///< operands are [B, T, H D], otherwise [..., H, T, D]
  Tensor keep;                ///< bool, four axes; undefined if there is none
  Tensor key_rows;            ///< i64 [B, at least Tk]; undefined if there are none
  Mask band;                  ///< causal mask and window
  Shape output;

  int64_t kv_heads() const { return shape.H / shape.group; }
  Shape scores() const { return {shape.B, shape.H, shape.Tq, shape.Tk}; }
  /// Bool, true where a query sees a key, broadcast to [B, H, Tq, Tk]; undefined if every query sees every key.
  Tensor visible() const;
  /// Reference implementation, one operation per step of the formula. `in` is query, key, value and the additive mask.
  AttentionSteps steps(std::span<const Tensor> in) const;
  /// Adds to the FLOP counter `over_d` products of width D and `over_dv` products of width Dv for each visible pair of
  /// query and key.
  void count_products(double over_d, double over_dv) const;

 private:
  Tensor split(const Tensor& x, int64_t heads) const;
  Mask mask(const Tensor& additive) const;
};

/// A call with checked operands and options.
struct AttentionInputs {
  Tensor query, key, value, additive;
  AttentionLayout layout;
};

/// query [..., H, Tq, D], key [..., H / G, Tk, D], value [..., H / G, Tk, Dv]. Errors of scaled_dot_product_attention.
AttentionInputs sdpa_inputs(const Tensor& query, const Tensor& key, const Tensor& value,
                            const AttentionOptions& options);
/// query [B, Tq, H D], key [B, Tk, (H / G) D], value [B, Tk, (H / G) Dv]. Errors of multi_head_attention.
AttentionInputs mha_packed_inputs(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                                  const AttentionOptions& options);
/// Attention over a cache, packed layout. Errors of multi_head_attention.
AttentionInputs mha_cached_inputs(const Tensor& query, const KvCacheView& cached, int64_t heads,
                                  const AttentionOptions& options);

}  // namespace tape::detail
