#pragma once

#include "../../autograd/ops/attention/attention.h"
#include "../linear.h"

namespace tape::nn {

/// Options of RelativeAttention.
struct RelativeAttentionOptions {
  int64_t max_distance = 16;  ///< k: greater distances are clipped to k
  double dropout = 0;         ///< on the attention weights
  bool bias = true;           ///< in the four projections
};

/// Attention with trained relative positions in keys and values (Shaw et al. 2018, "Self-attention with relative
/// position representations", sections 3.1 and 3.2), in each head
///     e_ij = q_i (k_j + a^K_c)^T / sqrt(D),   z_i = sum_j softmax(e_i)_j (v_j + a^V_c),   c = clip(j - i, -k, k),
/// with a^K and a^V [2k + 1, D] shared by the heads, row c + k. q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C]. The
/// tables are initialized normally with standard deviation D^-0.5. Calls throw as MultiHeadAttention.
class RelativeAttention : public Layer<RelativeAttention> {
 public:
  using Options = RelativeAttentionOptions;  ///< lets Child take options in braces

  /// Throws Error (config) if heads does not divide d_model, if max_distance is negative, or unless 0 <= dropout < 1.
  RelativeAttention(int64_t d_model, int64_t heads, const RelativeAttentionOptions& options = {});

  /// Attention of queries q to keys k and values v; distances j - i count both sequences from 0.
  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {}) {
    return attend(q, k, v, mask, false).output;
  }
  /// Self-attention: forward(x, x, x, mask).
  Tensor forward(const Tensor& x, const Mask& mask = {}) { return forward(x, x, x, mask); }
  /// Also returns the weights [B, H, Tq, Tk].
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask = {}) {
    return attend(q, k, v, mask, true);
  }
  std::string settings() const override;  ///< as in "512, 8 heads, distances up to 16"

  /// Projections C -> C.
  /// @{
  Child<Linear> query, key, value, output;
  /// @}
  Parameter key_positions,  ///< a^K [2k + 1, D]
      value_positions;      ///< a^V [2k + 1, D]

 private:
  AttentionResult attend(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask, bool need_weights);

  int64_t heads_, max_distance_;
  double dropout_;
};

}  // namespace tape::nn
