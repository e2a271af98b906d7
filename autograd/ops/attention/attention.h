#pragma once

#include <optional>

#include "../../mask.h"
#include "../../tensor.h"

namespace tape {

struct AttentionOptions {
  Mask mask = {};
  double dropout = 0;                ///< probability of dropping a weight, in [0, 1); the dropout stream draws
  std::optional<double> scale = {};  ///< of the scores; 1 / sqrt(D) where not given
  /// Key and value may have fewer heads, each shared by as many neighbouring heads of the query (Ainslie et al. 2023,
  /// "GQA"). Nothing is repeated for it.
  bool enable_gqa = false;
};

/// softmax(scale * query key^T + mask) value (Vaswani et al. 2017, 3.2.1): query [..., Tq, D], key [..., Tk, D], value
/// [..., Tk, Dv] with equal leading axes -> [..., Tq, Dv]. Masks broadcast to the scores [..., Tq, Tk]; a query that
/// sees no key gets zeros and gives zero gradients. The fused kernel stores two numbers a query and skips what a causal
/// mask and a window hide, and padding and other documents of a row on either side of what is kept; in a Composed scope
/// every step is an operation of its own. With enable_gqa, query [..., H, Tq, D], key and value [..., H / G, Tk, D].
/// All of one floating dtype (f16 and bf16 are computed in f32), an additive mask of the one computed in. Error (shape)
/// naming what differs (ranks, leading axes, widths of query and key, lengths of key and value, a mask that does not
/// broadcast), (dtype) where dtypes differ, (config) for dropout out of range.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

struct AttentionResult {
  Tensor output;   ///< [..., Tq, Dv]
  Tensor weights;  ///< [..., Tq, Tk], softmax of the scores before dropout
};
/// The same with the attention weights; gradients flow through both. (Who wants to see the weights of a model that runs
/// observes it: nn::AttentionWeights.)
AttentionResult scaled_dot_product_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                          const AttentionOptions& options = {});

/// The same for `heads` heads that lie side by side: query [B, Tq, H D], key [B, Tk, H D], value [B, Tk, H Dv] ->
/// [B, Tq, H Dv], weights [B, H, Tq, Tk]. With enable_gqa, key [B, Tk, (H / G) D] and value [B, Tk, (H / G) Dv]. No
/// head is copied out. Errors as above, and (config) where `heads` does not divide both widths, or the heads of keys
/// not `heads`.
Tensor multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                            const AttentionOptions& options = {});
AttentionResult multi_head_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  int64_t heads, const AttentionOptions& options = {});

/// Keys and values of positions that came before, heads side by side, as a cache holds them (nn::KeyValueCache).
struct CachedKeys {
  Tensor key, value;   ///< [R, capacity, K D] and [R, capacity, K Dv]
  int64_t length = 0;  ///< of so many positions; behind them is room
  /// Position j of batch row b is that of row rows[b, j] of key and value, which may have any number of rows: i64 [B,
  /// at least length]. Sequences with a common past, as beams are, change places by it without copies. Undefined: b's
  /// own.
  Tensor rows = {};
};
/// The same of the positions that count: masks and weights are for those. Errors as above, and (config) for a length
/// beyond the capacity, (shape, dtype, index) for rows that do not fit or name one that is not there.
Tensor multi_head_attention(const Tensor& query, const CachedKeys& cached, int64_t heads,
                            const AttentionOptions& options = {});
AttentionResult multi_head_attention_with_weights(const Tensor& query, const CachedKeys& cached, int64_t heads,
                                                  const AttentionOptions& options = {});

}  // namespace tape
