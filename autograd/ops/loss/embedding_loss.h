#pragma once

#include "loss_reduction.h"

namespace tape {

// Vector lengths and cosines, and losses of them. All tensors of a call have one floating dtype (Error (dtype)); f16
// and bf16 are computed in f32. Gradients flow to all of them.

/// Options of normalize().
struct NormalizeOptions {
  double eps = 1e-12;  ///< lower bound of lengths
};
/// x / max(|x|, eps), |x| the length along an axis. Error (index) for an axis that x does not have, (config) unless
/// eps is positive.
Tensor normalize(const Tensor& x, int64_t axis = 1, const NormalizeOptions& options = {});

/// Cosine of the angle between vectors along an axis, which is dropped. a and b are broadcast; lengths are at least
/// eps. Errors as in normalize(), and (shape) if they do not broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis = 1, double eps = 1e-8);

/// Options of cosine_embedding_loss().
struct CosineEmbeddingOptions {
  double margin = 0;                      ///< for the cosine of dissimilar vectors, in [-1, 1]
  Reduction reduction = Reduction::mean;  ///< none: a loss per pair
};
/// Loss of vectors a and b [N, C] that should be similar where the target [N] is 1 and dissimilar where it is -1; or
/// [C] and []. With c the cosine between them (lengths at least 1e-6):
///   1 - c  and  max(0, c - margin)
/// The target is i64 or of a's dtype. Error (shape) for other shapes, (config) for a target other than 1 and -1 and for
/// a margin outside [-1, 1].
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                             const CosineEmbeddingOptions& options = {});

/// Options of triplet_margin_loss().
struct TripletMarginOptions {
  double margin = 1;  ///< how much farther than the positive the negative must be; above 0
  double p = 2;       ///< order of the norm that measures distances
  double eps = 1e-6;  ///< added to each difference, so that a distance of 0 has a gradient
  bool swap = false;  ///< use the negative's distance from the anchor or the positive, whichever is smaller
  Reduction reduction = Reduction::mean;  ///< none: a loss per triplet
};
/// max(0, margin + d(anchor, positive) - d(anchor, negative)), d(u, v) = (sum |u - v + eps|^p)^(1/p) along the last
/// axis (Schroff et al. 2015, "FaceNet", equation 3, with squares; Balntas et al. 2016, 3.3, for swap). All three have
/// one shape (Error (shape)); the losses have it without the last axis. Error (config) unless margin and p are positive
/// and eps is not negative.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});

/// Options of info_nce().
struct InfoNceOptions {
  double temperature = 0.07;              ///< divides the cosines
  bool symmetric = false;                 ///< average with the loss of keys against queries (CLIP)
  Reduction reduction = Reduction::mean;  ///< none: a loss per query
};
/// In-batch contrastive loss: queries [N, C], keys [N, C]. Key i is the positive of query i; all other keys of the
/// batch are negatives, including any after the first N if there are more keys [M, C]:
///   -log softmax_j(cos(query i, key j) / temperature)[i]
/// (van den Oord et al. 2018, "Contrastive Predictive Coding", equation 4; with cosines and a temperature, He et al.
/// 2020, "MoCo", equation 1). Error (shape) for other shapes, and for symmetric with more keys than queries; (config)
/// unless the temperature is positive.
Tensor info_nce(const Tensor& queries, const Tensor& keys, const InfoNceOptions& options = {});

}  // namespace tape
