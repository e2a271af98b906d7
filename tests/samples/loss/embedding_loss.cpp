#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> normalize_samples() {
  const auto of = [](const char* label, const Shape& shape, int64_t axis, const NormalizeOptions& options) {
    return OpSample{label, {sample_normal(shape)}, [=](const Tensors& in) { return normalize(in[0], axis, options); }};
  };
  return std::vector{of("rows", {2, 3}, -1, {}), of("middle", {2, 3, 2}, 1, {}), of("below eps", {2, 3}, 1, {.eps = 9}),
                     of("empty", {0, 3}, 1, {})};
}

const OpSamples samples_of_normalize("normalize", normalize_samples);

std::vector<OpSample> cosine_similarity_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b, int64_t axis, double eps) {
    return OpSample{label, {sample_normal(a, 1), sample_normal(b, 2)}, [=](const Tensors& in) {
                      return cosine_similarity(in[0], in[1], axis, eps);
                    }};
  };
  return std::vector{of("rows", {2, 3}, {2, 3}, 1, 1e-8), of("pairs", {2, 1, 3}, {2, 3}, -1, 1e-8),
                     of("columns", {3, 2}, {3, 1}, 0, 1e-8), of("below eps", {2, 3}, {2, 3}, 1, 9)};
}

const OpSamples samples_of_cosine_similarity("cosine_similarity", cosine_similarity_samples);

std::vector<OpSample> cosine_embedding_loss_samples() {
  const Tensor signs = tensor({1, -1, -1}, i64), turns = tensor({{1, -1, 1, -1}}, f64);
  const auto of = [signs](const char* label, const CosineEmbeddingOptions& options) {
    return OpSample{label, {sample_normal({3, 4}, 1), sample_normal({3, 4}, 5)}, [=](const Tensors& in) {
                      return cosine_embedding_loss(in[0], in[1], signs, options);
                    }};
  };
  // Equal values would be orthogonal to this vector, where the loss of dissimilar pairs has its kink.
  const auto beside = [turns](const Tensors& in) {
    return cosine_embedding_loss(in[0], turns.to(in[0].dtype()), full({1}, -1, i64));
  };
  return std::vector<OpSample>{of("mean", {.margin = -0.9}),
                               of("no reduction", {.reduction = Reduction::none}),
                               {"one dissimilar pair", {tensor({{0.5, -0.2, 1, 0.3}}, f64)}, beside}};
}

const OpSamples samples_of_cosine_embedding_loss("cosine_embedding_loss", cosine_embedding_loss_samples);

std::vector<OpSample> triplet_margin_loss_samples() {
  const auto of = [](const char* label, const TripletMarginOptions& options) {
    const Tensors three{sample_normal({3, 4}, 1), sample_normal({3, 4}, 2), sample_normal({3, 4}, 3)};
    return OpSample{label, three,
                    [options](const Tensors& in) { return triplet_margin_loss(in[0], in[1], in[2], options); }};
  };
  return std::vector{of("mean", {}), of("p = 1, no reduction", {.margin = 4, .p = 1, .reduction = Reduction::none}),
                     of("swapped", {.margin = 2, .swap = true})};
}

const OpSamples samples_of_triplet_margin_loss("triplet_margin_loss", triplet_margin_loss_samples);

}  // namespace
}  // namespace tape
