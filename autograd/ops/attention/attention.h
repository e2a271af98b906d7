#pragma once

#include <optional>

#include "../../mask.h"
#include "../../tensor.h"

namespace tape {

/// Options of scaled_dot_product_attention() and multi_head_attention().
struct AttentionOptions {
  Mask mask = {};                    ///< which keys each query sees, and biases; by default all keys
  double dropout = 0;                ///< probability of dropping a weight, in [0, 1); draws from the dropout stream
  std::optional<double> scale = {};  ///< scale of the scores; default: 1 / sqrt(D)
  /// Key and value may have fewer heads, each shared by a group of consecutive query heads (Ainslie et al. 2023,
  /// "GQA"). Shared heads are not copied.
  bool enable_gqa = false;
};

/// softmax(scale * query key^T + mask) value (Vaswani et al. 2017, 3.2.1): query [..., Tq, D], key [..., Tk, D], value
/// [..., Tk, Dv] with equal leading axes -> [..., Tq, Dv]. With enable_gqa: query [..., H, Tq, D], key and value
/// [..., H / G, Tk, D]. Masks broadcast to the scores [..., Tq, Tk]; a query that sees no key gets zeros and zero
/// gradients. All operands have one floating dtype (f16 and bf16 are computed in f32; on a GPU, bf16 with sums in f32
/// and probabilities rounded to bf16, where kernels::has_bf16_attention()), an additive mask has the compute dtype.
/// Error (shape) naming what differs (ranks, leading axes, widths of query and key, lengths of key and value, a mask
/// that does not broadcast), (dtype) for different dtypes, (config) for dropout out of range.
///
/// The fused kernel saves two values per query. It skips keys outside the causal mask and the window, and, in each row,
/// the masked keys (padding, other documents) before the first and after the last visible one. In a Composed scope
/// every step is a separate operation.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

/// Attention's output and its weights.
struct AttentionResult {
  Tensor output;   ///< [..., Tq, Dv]
  Tensor weights;  ///< [..., Tq, Tk], softmax of the scores before dropout
};
/// Also returns the attention weights; gradients flow through both. To see the weights of a running model, use
/// nn::AttentionWeights.
AttentionResult scaled_dot_product_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                          const AttentionOptions& options = {});

/// Attention of `heads` heads in packed layout: query [B, Tq, H D], key [B, Tk, H D], value [B, Tk, H Dv] ->
/// [B, Tq, H Dv], weights [B, H, Tq, Tk]. With enable_gqa: key [B, Tk, (H / G) D] and value [B, Tk, (H / G) Dv]. Heads
/// are not copied. Errors as above, and (config) if `heads` does not divide both widths or the number of key heads does
/// not divide `heads`.
/// @{
Tensor multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, int64_t heads,
                            const AttentionOptions& options = {});
AttentionResult multi_head_attention_with_weights(const Tensor& query, const Tensor& key, const Tensor& value,
                                                  int64_t heads, const AttentionOptions& options = {});
/// @}

/// Keys and values of earlier positions, in packed layout, as stored by nn::KeyValueCache.
struct KvCacheView {
  /// [R, capacity, K D] and [R, capacity, K Dv], K key heads.
  /// @{
  Tensor key, value;
  /// @}
  int64_t length = 0;  ///< number of valid positions; the rest is spare capacity
  /// Row of key and value that holds position j of batch row b: rows[b, j]. i64 [B, at least length]; R may differ from
  /// B. Sequences that share a past, such as beams, can be reordered without copies. If undefined, batch row b reads
  /// row b.
  Tensor rows = {};
};
/// Attention over the valid cached positions, which masks and weights refer to. Errors as above, and (config) for a
/// length beyond the capacity, (shape, dtype, index) for rows that do not fit or are out of range.
/// @{
Tensor multi_head_attention(const Tensor& query, const KvCacheView& cached, int64_t heads,
                            const AttentionOptions& options = {});
AttentionResult multi_head_attention_with_weights(const Tensor& query, const KvCacheView& cached, int64_t heads,
                                                  const AttentionOptions& options = {});
/// @}

}  // namespace tape
