#pragma once

#include "loss_reduction.h"

namespace tape {

// Lengths and angles of vectors, and losses of them. All tensors of a call have one floating dtype (Error (dtype)); f16
// and bf16 are computed in f32. Gradients flow to all of them.

struct NormalizeOptions {
  double eps = 1e-12;  ///< lengths are held above it
};
/// x / max(|x|, eps), |x| the length along an axis. Error (index) for an axis that x does not have, (config) unless
/// eps is above 0.
Tensor normalize(const Tensor& x, int64_t axis = 1, const NormalizeOptions& options = {});

/// The cosine of the angle between vectors along an axis of both, which disappears: a and b are broadcast; lengths are
/// held above eps. Errors as normalize(), and (shape) where they do not broadcast.
Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis = 1, double eps = 1e-8);

struct CosineEmbeddingOptions {
  double margin = 0;  ///< of the cosine of vectors that differ
  Reduction reduction = Reduction::mean;
};
/// Vectors a and b [N, C], which are alike where the target [N] is 1, and differ where it is -1; or [C] and []. With c
/// the cosine between them (lengths held above 1e-6):
///   1 - c  and  max(0, c - margin)
/// The target is i64 or of a's dtype. Error (shape) for other shapes, (config) for a target that is neither 1 nor -1
/// and a margin outside [-1, 1].
Tensor cosine_embedding_loss(const Tensor& a, const Tensor& b, const Tensor& target,
                             const CosineEmbeddingOptions& options = {});

struct TripletMarginOptions {
  double margin = 1;
  double p = 2;       ///< of the norm that measures distances
  double eps = 1e-6;  ///< added to each difference: its distance has a gradient where it is 0
  bool swap = false;  ///< the negative's distance is that from the anchor or the positive, whichever is less
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + d(anchor, positive) - d(anchor, negative)), d(u, v) = (sum |u - v + eps|^p)^(1/p) along the last
/// axis (Schroff et al. 2015, "FaceNet", equation 3, with squares; Balntas et al. 2016, 3.3, for swap). All three have
/// one shape (Error (shape)); the losses have it without the last axis. Error (config) unless margin and p are above 0
/// and eps is at least 0.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});

struct InfoNceOptions {
  double temperature = 0.07;  ///< cosines are divided by it
  bool symmetric = false;     ///< the mean of this and of the loss with queries and keys exchanged (CLIP)
  Reduction reduction = Reduction::mean;
};
/// In-batch contrastive loss: queries [N, C], keys [N, C]; key i is what query i should find, and all others of the
/// batch, and those behind the first N of more keys [M, C], are what it should not:
///   -log softmax_j(cos(query i, key j) / temperature)[i]
/// the cross-entropy of N (van den Oord et al. 2018, "Contrastive Predictive Coding", equation 4; with cosines and a
/// temperature, He et al. 2020, "MoCo", equation 1). Error (shape) for other shapes, and symmetric with more keys than
/// queries; (config) unless the temperature is above 0.
Tensor info_nce(const Tensor& queries, const Tensor& keys, const InfoNceOptions& options = {});

}  // namespace tape
