#pragma once

#include "../../autograd/ops/attention/attention.h"
#include "../dropout.h"
#include "../linear.h"

namespace tape::nn {

/// Position terms that are added to the content scores.
enum class PositionTerms { both, content_to_position, position_to_content };

/// Whether the scores include Q_i KR_c^T, the attention of a query's content to its distance from the key.
inline bool has_content_to_position(PositionTerms terms) { return terms != PositionTerms::position_to_content; }
/// Whether the scores include K_j QR_c^T, the attention of the distance to a key's content.
inline bool has_position_to_content(PositionTerms terms) { return terms != PositionTerms::content_to_position; }

/// Options of DisentangledAttention.
struct DisentangledAttentionOptions {
  int64_t max_distance = 512;                 ///< greater distances are clipped to this
  PositionTerms terms = PositionTerms::both;  ///< added to the content scores
  double dropout = 0;                         ///< on the attention weights
  /// b, the number of buckets per direction, see distance_bucket(); 0 for one row per distance.
  int64_t buckets = 0;
  bool share_projections = false;            ///< positions use the projections key and query, as in DeBERTa v3
  double position_dropout = 0;               ///< on the position rows
  std::optional<double> rows_norm_eps = {};  ///< LayerNorm over these rows, applied by the stack; none by default

  /// Returns k: there are 2k position rows.
  int64_t distances() const { return buckets > 0 ? buckets : max_distance; }
};

/// Returns the bucket of distance d: d itself if |d| <= m = b / 2, otherwise, with the sign of d,
///     m + ceil(log(|d| / m) / log((max_distance - 1) / m) (m - 1)),
/// the position buckets of DeBERTa v2 and v3 (their code; He et al. 2021, "DeBERTaV3"). Throws Error (config) unless
/// b >= 2 and m < max_distance - 1.
int64_t distance_bucket(int64_t distance, int64_t buckets, int64_t max_distance);

/// Disentangled attention of DeBERTa (He et al. 2021, section 3.1): scores are sums over content and relative position,
/// in each head
///     A_ij = Q_i K_j^T + Q_i KR_c^T + K_j QR_c^T,   c = clip(bucket(i - j) + k, 0, 2k - 1),
///     H = softmax(A / sqrt(n D)) V,   n = 3 terms, or 2 with only one position term,
/// where KR = position_key(P) and QR = position_query(P), or key(P) and query(P) with shared projections, for trained
/// rows P [2k, C] that all layers share (owned by Encoder). Without buckets, bucket(d) = d. The last term uses row c as
/// the paper's code and transformers do; the paper's formula uses the row of j - i instead. q [B, Tq, C], k and v
/// [B, Tk, C] -> [B, Tq, C].
class DisentangledAttention : public Layer<DisentangledAttention> {
 public:
  using Options = DisentangledAttentionOptions;  ///< lets Child take options in braces

  /// Throws Error (config) if heads does not divide d_model, or if the buckets do not fit the distances.
  DisentangledAttention(int64_t d_model, int64_t heads, const DisentangledAttentionOptions& options = {});

  /// `positions` are the rows P. Throws Error (shape) unless they are [2k, C].
  Tensor forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions, const Mask& mask = {}) {
    return with_weights(q, k, v, positions, mask).output;
  }
  /// Self-attention: forward(x, x, x, positions, mask).
  Tensor forward(const Tensor& x, const Tensor& positions, const Mask& mask = {}) {
    return forward(x, x, x, positions, mask);
  }
  /// Also returns the weights [B, H, Tq, Tk].
  AttentionResult with_weights(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& positions,
                               const Mask& mask = {});
  /// Returns c for a key at distance j - i from its query.
  int64_t row_of(int64_t distance) const;
  std::string settings() const override;  ///< as in "768, 12 heads, distances up to 512, dropout 0.1"

  int64_t heads() const { return heads_; }  ///< H
  double scale() const { return scale_; }   ///< 1 / sqrt(n D)
  /// Returns the options that the constructor was given.
  const DisentangledAttentionOptions& options() const { return options_; }

  /// Projections C -> C with bias.
  /// @{
  Child<Linear> query, key, value, output;
  /// @}
  /// Projections C -> C of the position rows; null if the options omit the term or share projections.
  /// @{
  std::unique_ptr<Child<Linear>> position_key, position_query;
  /// @}
  std::unique_ptr<Child<Dropout>> position_dropout;  ///< null if disabled

 private:
  Tensor position_scores(const Tensor& queries, const Tensor& keys, const Tensor& positions);

  int64_t heads_;
  DisentangledAttentionOptions options_;
  double scale_;
};

}  // namespace tape::nn
