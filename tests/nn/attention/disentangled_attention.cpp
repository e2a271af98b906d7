#include "nn/attention/disentangled_attention.h"

#include <fmt/format.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(DisentangledAttention, AgreesWithDeberta) {
  for (const auto& [name, terms] : {std::pair{"deberta c2p p2c", PositionTerms::both},
                                    {"deberta c2p", PositionTerms::content_to_position},
                                    {"deberta p2c", PositionTerms::position_to_content}}) {
    DisentangledAttention layer(8, 2, {.max_distance = 3, .terms = terms});
    expect_agrees_with_torch(
        TorchCase("variants", name),
        [&](const Named& in) {
          const Tensor& x = in.at("x");
          const Mask mask = Mask::keep(unsqueeze(in.at("keep"), 1));
          const AttentionResult result = layer.with_weights(x, x, x, in.at("positions"), mask);
          return Named{{"y", result.output}, {"weights", result.weights}};
        },
        &layer);
  }
}

TEST(DisentangledAttention, AcceptsDifferentQueriesAndKeys) {
  manual_seed(1);
  DisentangledAttention layer(8, 2, {.max_distance = 2});
  layer.to(f64);
  const Tensor x = randn({2, 5, 8}, f64), positions = randn({4, 8}, f64);
  // Attention of the first queries only.
  const Tensor some = layer(slice(x, 1, {.end = 3}), x, x, positions);
  EXPECT_TRUE(tensors_near(some, slice(layer(x, positions), 1, {.end = 3}), 1e-13));
  // And over the first keys only, with the others hidden.
  const Tensor first = slice(x, 1, {.end = 3});
  const Mask hidden = Mask::padding(tensor({1, 1, 1, 0, 0}, i64), 0);
  EXPECT_TRUE(tensors_near(layer(x, first, first, positions), layer(x, positions, hidden), 1e-13));
}

TEST(DisentangledAttention, ReturnsZeroForAQueryWithoutVisibleKeys) {
  DisentangledAttention layer(4, 2, {.max_distance = 2});
  const Mask nothing = Mask::keep(zeros({1, 1, 1, 3}, boolean));
  Tensor x = randn({2, 3, 4}).requires_grad_(), positions = randn({4, 4}).requires_grad_();
  const AttentionResult result = layer.with_weights(x, x, x, positions, nothing);
  EXPECT_EQ(largest(result.output), 0);  // the output's bias is zero
  EXPECT_EQ(largest(result.weights), 0);
  sum(result.output * randn({2, 3, 4})).backward();
  EXPECT_EQ(largest(x.grad()), 0);
  EXPECT_EQ(largest(positions.grad()), 0);
}

// Expected values from make_log_bucket_position in transformers 5.23, for the buckets of DeBERTa v3 and for small ones.
TEST(DisentangledAttention, PutsLargeDistancesIntoBuckets) {
  for (const int64_t near : {0, 1, 100, 128}) EXPECT_EQ(distance_bucket(near, 256, 512), near);
  EXPECT_EQ(distance_bucket(129, 256, 512), 129);
  EXPECT_EQ(distance_bucket(200, 256, 512), 169);
  EXPECT_EQ(distance_bucket(-200, 256, 512), -169);
  EXPECT_EQ(distance_bucket(511, 256, 512), 255);
  EXPECT_EQ(distance_bucket(600, 256, 512), 270);
  EXPECT_EQ(distance_bucket(4, 4, 9), 3);
  EXPECT_TAPE_ERROR(distance_bucket(1, 1, 9), ErrorKind::config,
                    "distance_bucket: needs buckets >= 2 and buckets / 2 < max_distance - 1, got 1 and 9");
  EXPECT_TAPE_ERROR(DisentangledAttention(4, 2, {.max_distance = 3, .buckets = 4}), ErrorKind::config,
                    "distance_bucket: needs buckets >= 2 and buckets / 2 < max_distance - 1, got 4 and 3");
}

TEST(DisentangledAttention, SharesItsProjections) {
  manual_seed(1);
  DisentangledAttention apart(8, 2, {.max_distance = 2}), shared(8, 2, {.max_distance = 2, .share_projections = true});
  EXPECT_FALSE(shared.position_key || shared.position_query);
  nn::StateDict values = shared.state_dict();
  for (const char* part : {"weight", "bias"}) {
    values[fmt::format("position_key.{}", part)] = values.at(fmt::format("key.{}", part));
    values[fmt::format("position_query.{}", part)] = values.at(fmt::format("query.{}", part));
  }
  apart.load_state_dict(values);
  const Tensor x = randn({2, 5, 8}), rows = randn({4, 8});
  EXPECT_TRUE(tensors_near(shared(x, rows), apart(x, rows), 1e-6));
}

TEST(DisentangledAttention, DropsPositionRowsInTraining) {
  manual_seed(1);
  DisentangledAttention layer(8, 2, {.max_distance = 2, .position_dropout = 0.5});
  const Tensor x = randn({2, 5, 8}), rows = randn({4, 8});
  EXPECT_FALSE(tensors_equal(layer(x, rows), layer(x, rows)));
  layer.eval();
  EXPECT_TRUE(tensors_equal(layer(x, rows), layer(x, rows)));
}

TEST(DisentangledAttention, PrintsItsSettings) {
  EXPECT_EQ(DisentangledAttention(4, 2).settings(), "4, 2 heads, distances up to 512");
  EXPECT_EQ(DisentangledAttention(4, 2, {.max_distance = 8, .dropout = 0.1}).settings(),
            "4, 2 heads, distances up to 8, dropout 0.1");
  EXPECT_EQ(DisentangledAttention(4, 2, {.max_distance = 8, .buckets = 4, .share_projections = true}).settings(),
            "4, 2 heads, distances up to 8 in 4 buckets, shared projections");
}

TEST(DisentangledAttention, RefusesOptionsOutOfRange) {
  EXPECT_TAPE_ERROR(DisentangledAttention(6, 4), ErrorKind::config,
                    "DisentangledAttention: d_model 6 is not divisible by heads 4");
  EXPECT_TAPE_ERROR(DisentangledAttention(4, 2, {.max_distance = 0}), ErrorKind::config,
                    "DisentangledAttention: max_distance must be at least 1, got 0");
  EXPECT_TAPE_ERROR(DisentangledAttention(4, 2, {.dropout = 1}), ErrorKind::config,
                    "DisentangledAttention: the probability must be in [0, 1), got 1");
}

TEST(DisentangledAttention, RefusesInputsAndPositionsOfOtherShapes) {
  DisentangledAttention layer(4, 2, {.max_distance = 3});
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 4}), zeros({4, 4})), ErrorKind::shape,
                    "DisentangledAttention: positions must be [6, C], got [4, 4]");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 4}), zeros({6, 5})), ErrorKind::shape,
                    "position_key: linear: inner sizes differ: x [6, 5] x weight [4, 4] (5 vs 4)");
  EXPECT_TAPE_ERROR(layer(zeros({3, 4}), zeros({6, 4})), ErrorKind::shape,
                    "split_heads: x must be [B, T, H D] with 2 heads, got [3, 4]");
}

}  // namespace
}  // namespace tape::nn
