#pragma once

#include "../autograd/ops/attention.h"
#include "linear.h"

namespace tape::nn {

/// Which products with positions are added to that of the contents.
enum class PositionTerms { both, content_to_position, position_to_content };

struct DisentangledAttentionOptions {
  int64_t max_distance = 512;  ///< k: further apart counts as k
  PositionTerms terms = PositionTerms::both;
  double dropout = 0;  ///< of the attention weights
};

/// Attention whose scores are sums over content and relative position, DeBERTa's (He et al. 2021, 3.1), in each head
///     A_ij = Q_i K_j^T + Q_i KR_c^T + K_j QR_c^T,   c = clip(i - j + k, 0, 2k - 1),
///     H = softmax(A / sqrt(n D)) V,   n = 3 terms, or 2 with one kind of position term,
/// where KR = position_key(P) and QR = position_query(P) of trained rows P [2k, C] that all layers share. The last term
/// takes the row c as in the code that came with the paper and in transformers; the paper's formula has that of j - i
/// there. q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C].
class DisentangledAttention : public Layer<DisentangledAttention> {
 public:
  /// Error (config) where heads does not divide d_model.
  DisentangledAttention(int64_t d_model, int64_t heads, const DisentangledAttentionOptions& options = {});

  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions, const Mask& mask = {}) {
    return with_weights(q, k, v, positions, mask).output;
  }
  /// Self-attention.
  Tensor forward(const Tensor& x, const Tensor& positions, const Mask& mask = {}) {
    return forward(x, x, x, positions, mask);
  }
  /// With the weights [B, H, Tq, Tk].
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions,
                               const Mask& mask = {});
  std::string settings() const override;

  Child<Linear> query, key, value, output;
  std::unique_ptr<Child<Linear>> position_key, position_query;  ///< null where the options leave the term out

 private:
  Tensor position_scores(const Tensor& queries, const Tensor& keys, const Tensor& positions);

  int64_t heads_, max_distance_;
  double dropout_, scale_;
};

}  // namespace tape::nn
