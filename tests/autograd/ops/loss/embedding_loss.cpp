#include "autograd/ops/loss/embedding_loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/tape/op.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Normalize, ScalesToLengthOneAndKeepsZeros) {
  const Tensor x = tensor({{3, 4}, {0, 0}}, f64);
  EXPECT_TRUE(tensors_near(normalize(x), tensor({{0.6, 0.8}, {0, 0}}, f64), 1e-15));
  EXPECT_TAPE_ERROR(normalize(x, 2), ErrorKind::index, "normalize: axis 2 is out of range for shape [2, 2]");
  EXPECT_TAPE_ERROR(normalize(x, 1, {.eps = 0}), ErrorKind::config, "normalize: eps must be above 0 and finite, got 0");
  EXPECT_TAPE_ERROR(normalize(ones({2, 2}, i64)), ErrorKind::dtype, "normalize: needs a floating dtype, got i64");
}

TEST(CosineSimilarity, MatchesKnownAngles) {
  const Tensor a = tensor({{1, 0}, {1, 1}, {2, 0}, {0, 0}}, f64), b = tensor({{3, 0}, {1, 0}, {-1, 0}, {1, 0}}, f64);
  EXPECT_TRUE(tensors_near(cosine_similarity(a, b), tensor({1, std::sqrt(0.5), -1, 0}, f64), 1e-15));
}

/// While a length is clamped, the value does not depend on it: the gradient is that of a plain product.
TEST(CosineSimilarity, TreatsClampedLengthsAsConstant) {
  const auto f = [](const Tensors& in) { return cosine_similarity(in[0], in[1], -1, 2); };
  const Tensors inputs{tensor({{0.5, 0.1}, {0.3, -0.2}}, f64), tensor({{3, 0.5}, {0.2, 0.7}}, f64)};
  EXPECT_TRUE(gradients_match(gradcheck(f, inputs)));
  EXPECT_TRUE(gradients_match(gradgradcheck(f, inputs)));
}

TEST(CosineSimilarity, RefusesMismatchedAxes) {
  const Tensor a = ones({2, 3});
  EXPECT_TAPE_ERROR(cosine_similarity(a, ones({2, 1})), ErrorKind::shape,
                    "cosine_similarity: sizes differ on axis 1 of [2, 3]: [2, 3] and [2, 1]");
  EXPECT_TAPE_ERROR(cosine_similarity(a, ones({3}), 0), ErrorKind::shape,
                    "cosine_similarity: sizes differ on axis 0 of [2, 3]: [2, 3] and [3]");
  EXPECT_TAPE_ERROR(cosine_similarity(a, ones({4, 2})), ErrorKind::shape,
                    "cosine_similarity: shapes do not broadcast: [2, 3] and [4, 2] (2 vs 4 on axis -2)");
  EXPECT_TAPE_ERROR(cosine_similarity(a, a, 2), ErrorKind::index,
                    "cosine_similarity: axis 2 is out of range for shape [2, 3]");
  EXPECT_TAPE_ERROR(cosine_similarity(a, a, 1, -1), ErrorKind::config,
                    "cosine_similarity: eps must be above 0 and finite, got -1");
}

TEST(CosineEmbedding, AcceptsOnlyTargetsOfPlusAndMinusOne) {
  const Tensor a = tensor({{1, 0}, {1, 0}, {1, 0}}), b = tensor({{0, 1}, {2, 0}, {0, 3}});
  const Tensor losses =
      cosine_embedding_loss(a, b, tensor({1, -1, -1}), {.margin = 0.25, .reduction = Reduction::none});
  EXPECT_TRUE(tensors_near(losses, tensor({1, 0.75, 0}), 1e-6));
  EXPECT_TRUE(tensors_equal(
      cosine_embedding_loss(a, b, tensor({1, -1, -1}, i64), {.margin = 0.25, .reduction = Reduction::none}), losses));
  EXPECT_TAPE_ERROR(cosine_embedding_loss(a, b, tensor({1, 0, -1})), ErrorKind::config,
                    "cosine_embedding_loss: targets must be 1 or -1");
  EXPECT_TAPE_ERROR(cosine_embedding_loss(a, b, ones({3}, f64)), ErrorKind::dtype,
                    "cosine_embedding_loss: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(
      cosine_embedding_loss(a, b, ones({3, 1})), ErrorKind::shape,
      "cosine_embedding_loss: vectors [3, 2] need a target of that shape without the last axis, got [3, 1]");
  EXPECT_TAPE_ERROR(cosine_embedding_loss(a, b, ones({3}), {.margin = 2}), ErrorKind::config,
                    "cosine_embedding_loss: margin must be in [-1, 1], got 2");
}

TEST(TripletMargin, IsTheMarginForEqualVectorsAndZeroForDistantOnes) {
  const Tensor a = zeros({2, 2}, f64), far = tensor({{3, 4}, {0.6, 0.8}}, f64);
  EXPECT_NEAR(triplet_margin_loss(a, a, a, {.margin = 0.3}).item(), 0.3, 1e-12);
  EXPECT_TRUE(tensors_near(triplet_margin_loss(a, a, far, {.margin = 2, .reduction = Reduction::none}),
                           tensor({0, 1}, f64), 1e-5));
  // The negative is next to the positive, so with `swap` it counts as near.
  EXPECT_NEAR(triplet_margin_loss(a, far, far, {.swap = true}).item(), 1 + 3, 1e-5);
}

TEST(TripletMargin, HasNoGradientForDistantNegatives) {
  const Tensor anchor = tensor({{0, 0}, {0, 0}}, f64).requires_grad_(), near = tensor({{1, 0}, {1, 0}}, f64),
               far = tensor({{0, 9}, {0, 1.5}}, f64);
  triplet_margin_loss(anchor, near, far, {.reduction = Reduction::sum}).backward();
  EXPECT_TRUE(tensors_near(anchor.grad(), tensor({{0, 0}, {-1, 1}}, f64), 1e-5));
}

TEST(TripletMargin, RefusesInvalidOptionsAndShapes) {
  const Tensor a = zeros({2, 3});
  EXPECT_TAPE_ERROR(triplet_margin_loss(a, a, a, {.margin = 0}), ErrorKind::config,
                    "triplet_margin_loss: needs margin > 0, p > 0 and eps >= 0, got 0, 2 and 1e-06");
  EXPECT_THROW(triplet_margin_loss(a, a, a, {.p = -1}), Error);
  EXPECT_THROW(triplet_margin_loss(a, a, a, {.eps = NAN}), Error);
  EXPECT_TAPE_ERROR(triplet_margin_loss(a, a, zeros({1, 3})), ErrorKind::shape,
                    "triplet_margin_loss: shapes differ: [2, 3] and [1, 3]");
  EXPECT_TAPE_ERROR(triplet_margin_loss(scalar(1), scalar(1), scalar(1)), ErrorKind::shape,
                    "triplet_margin_loss: needs vectors, got []");
}

TEST(InfoNce, MatchesKnownBatches) {
  // Equal keys cannot be told apart; a matching key orthogonal to all others costs almost nothing.
  EXPECT_NEAR(info_nce(sample_normal({5, 3}), ones({5, 3}, f64)).item(), std::log(5), 1e-12);
  const Tensor own = tensor({{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}, f64);
  EXPECT_NEAR(info_nce(own, own, {.temperature = 0.05}).item(), std::log(1 + 2 * std::exp(-20)), 1e-12);
}

TEST(InfoNce, IsDifferentiable) {
  for (const bool symmetric : {false, true}) {
    const auto f = [=](const Tensors& in) {
      return info_nce(in[0], in[1], {.temperature = 0.5, .symmetric = symmetric});
    };
    EXPECT_TRUE(gradients_match(gradcheck(f, {sample_normal({3, 4}, 1), sample_normal({3, 4}, 2)})));
    EXPECT_TRUE(gradients_match(gradgradcheck(f, {sample_normal({3, 4}, 1), sample_normal({3, 4}, 2)})));
  }
}

TEST(InfoNce, RefusesFewerKeysThanQueries) {
  const Tensor q = ones({3, 2});
  EXPECT_TAPE_ERROR(info_nce(q, ones({2, 2})), ErrorKind::shape,
                    "info_nce: needs queries [N, C] and at least as many keys [M, C], got [3, 2] and [2, 2]");
  EXPECT_THROW(info_nce(q, ones({3, 4})), Error);
  EXPECT_THROW(info_nce(q, ones({3})), Error);
  EXPECT_TAPE_ERROR(info_nce(q, ones({4, 2}), {.symmetric = true}), ErrorKind::shape,
                    "info_nce: symmetric needs a query for each key, got [3, 2] and [4, 2]");
  EXPECT_TAPE_ERROR(info_nce(q, q, {.temperature = 0}), ErrorKind::config,
                    "info_nce: temperature must be above 0 and finite, got 0");
  EXPECT_TAPE_ERROR(info_nce(q, ones({3, 2}, f64)), ErrorKind::dtype, "info_nce: dtypes differ: f32 and f64");
}

}  // namespace
}  // namespace tape
