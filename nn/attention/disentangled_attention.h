#pragma once

#include "../../autograd/ops/attention/attention.h"
#include "../dropout.h"
#include "../linear.h"

namespace tape::nn {

/// Which products with positions are added to that of the contents.
enum class PositionTerms { both, content_to_position, position_to_content };

inline bool to_positions(PositionTerms terms) { return terms != PositionTerms::position_to_content; }
inline bool to_contents(PositionTerms terms) { return terms != PositionTerms::content_to_position; }

struct DisentangledAttentionOptions {
  int64_t max_distance = 512;  ///< further apart counts as this
  PositionTerms terms = PositionTerms::both;
  double dropout = 0;  ///< of the attention weights
  /// b, of each direction, where distances are put into buckets: see distance_bucket(). 0 for a row a distance.
  int64_t buckets = 0;
  bool share_projections = false;            ///< positions go through key and query too, as in DeBERTa v3
  double position_dropout = 0;               ///< of the rows of positions
  std::optional<double> rows_norm_eps = {};  ///< the LayerNorm that a stack puts over these rows; none where not given

  /// k: there are 2k rows of positions.
  int64_t distances() const { return buckets > 0 ? buckets : max_distance; }
};

/// The bucket of distance d: d itself where |d| <= m = b / 2, and beyond that, with the sign of d,
///     m + ceil(log(|d| / m) / log((max_distance - 1) / m) (m - 1)),
/// the position buckets of DeBERTa v2 and v3 (their code; He et al. 2021, "DeBERTaV3"). Error (config) unless
/// b >= 2 and m < max_distance - 1.
int64_t distance_bucket(int64_t distance, int64_t buckets, int64_t max_distance);

/// Attention whose scores are sums over content and relative position, DeBERTa's (He et al. 2021, 3.1), in each head
///     A_ij = Q_i K_j^T + Q_i KR_c^T + K_j QR_c^T,   c = clip(bucket(i - j) + k, 0, 2k - 1),
///     H = softmax(A / sqrt(n D)) V,   n = 3 terms, or 2 with one kind of position term,
/// where KR = position_key(P) and QR = position_query(P), or key(P) and query(P) where projections are shared, of
/// trained rows P [2k, C] that all layers share (Encoder has them), and the bucket is the distance itself without
/// buckets. The last term takes the row c as in the code that came with the paper and in transformers; the paper's
/// formula has that of j - i there. q [B, Tq, C], k and v [B, Tk, C] -> [B, Tq, C].
class DisentangledAttention : public Layer<DisentangledAttention> {
 public:
  using Options = DisentangledAttentionOptions;

  /// Error (config) where heads does not divide d_model, and for buckets that do not fit the distances.
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
  /// c of a key that stands j - i behind its query.
  int64_t row_of(int64_t distance) const;
  std::string settings() const override;

  int64_t heads() const { return heads_; }
  double scale() const { return scale_; }  ///< 1 / sqrt(n D)
  const DisentangledAttentionOptions& options() const { return options_; }

  Child<Linear> query, key, value, output;
  /// Null where the options leave the term out, or share projections.
  std::unique_ptr<Child<Linear>> position_key, position_query;
  std::unique_ptr<Child<Dropout>> position_dropout;  ///< null without

 private:
  Tensor position_scores(const Tensor& queries, const Tensor& keys, const Tensor& positions);

  int64_t heads_;
  DisentangledAttentionOptions options_;
  double scale_;
};

}  // namespace tape::nn
