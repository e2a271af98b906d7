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
  bool side_by_side = false;  ///< operands are [B, T, H D], else [..., H, T, D]
  Tensor keep;                ///< bool, of four axes; undefined without
  Tensor key_rows;            ///< i64 [B, at least Tk]; undefined without
  Mask band;                  ///< the causal part and the window
  Shape output;

  int64_t kv_heads() const { return shape.H / shape.group; }
  Shape scores() const { return {shape.B, shape.H, shape.Tq, shape.Tk}; }
  /// Bool, true where a query sees a key, broadcast to [B, H, Tq, Tk]; undefined where every query sees every key.
  Tensor visible() const;
  /// The reference implementation, one operation for each step of the formula. `in` is query, key, value and the
  /// additive mask.
  AttentionSteps steps(std::span<const Tensor> in) const;
  /// Adds the multiplications of `over_d` products with D and `over_dv` products with Dv, for each visible pair of a
  /// query and a key, to the FLOP counter.
  void count_products(double over_d, double over_dv) const;

 private:
  Tensor split(const Tensor& x, int64_t heads) const;
  Mask mask(const Tensor& additive) const;
};

/// A call whose operands and options were checked.
struct AttentionInputs {
  Tensor query, key, value, additive;
  AttentionLayout layout;
};

/// query [..., H, Tq, D], key [..., H / G, Tk, D], value [..., H / G, Tk, Dv]. Errors of scaled_dot_product_attention.
AttentionInputs attention_of_heads_apart(const Tensor& query, const Tensor& key, const Tensor& value,
                                         const AttentionOptions& options);
/// query [B, Tq, H D], key [B, Tk, (H / G) D], value [B, Tk, (H / G) Dv]. Errors of multi_head_attention.
AttentionInputs attention_of_heads_side_by_side(const Tensor& query, const Tensor& key, const Tensor& value,
                                                int64_t heads, const AttentionOptions& options);
/// The same of what a cache holds.
AttentionInputs attention_over_a_cache(const Tensor& query, const CachedKeys& cached, int64_t heads,
                                       const AttentionOptions& options);

}  // namespace tape::detail
