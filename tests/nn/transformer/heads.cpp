#include "nn/transformer/heads.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(MeanPool, AveragesVisiblePositions) {
  const Tensor hidden = tensor({{{1, 2}, {3, 6}, {100, 100}}, {{5, 5}, {7, 9}, {3, 1}}, {{1, 1}, {1, 1}, {1, 1}}});
  EXPECT_TRUE(tensors_near(mean_pool(hidden), mean(hidden, {1}), 1e-6));
  const Mask mask = Mask::padding(tensor({{4, 4, 0}, {4, 4, 4}, {0, 0, 0}}, i64), 0);
  EXPECT_TRUE(tensors_near(mean_pool(hidden, mask), tensor({{2, 4}, {5, 5}, {0, 0}}), 1e-6)) << "none seen: zeros";
  const Mask one_for_all = Mask::padding(tensor({4, 0, 0}, i64), 0);
  EXPECT_TRUE(tensors_near(mean_pool(hidden, one_for_all), tensor({{1, 2}, {5, 5}, {1, 1}}), 1e-6));
  EXPECT_TRUE(tensors_near(mean_pool(hidden, Mask::causal()), mean(hidden, {1}), 1e-6));
}

TEST(MeanPool, HasTheGradientOfAMean) {
  const Mask mask = Mask::padding(tensor({{4, 4, 0}, {0, 0, 0}}, i64), 0);
  EXPECT_TRUE(gradients_match(
      tape::gradcheck([mask](const Tensors& in) { return mean_pool(in[0], mask); }, {randn({2, 3, 2}, f64)})));
}

TEST(MeanPool, RefusesInputsAndMasksOfOtherShapes) {
  EXPECT_TAPE_ERROR(mean_pool(zeros({2, 3})), ErrorKind::shape, "mean_pool: hidden must be [B, T, C], got [2, 3]");
  EXPECT_TAPE_ERROR(mean_pool(zeros({2, 3, 4}), Mask::padding(ones({2, 4}, i64), 0)), ErrorKind::shape,
                    "mean_pool: mask [2, 1, 1, 4] must be [2, 1, 1, 3] for hidden [2, 3, 4]");
}

TEST(Pooler, ReadsTheFirstPosition) {
  Pooler layer(2);
  layer.dense->weight.detach().copy_(tensor({{0, 1}, {2, 0}}));
  layer.dense->bias.detach().copy_(tensor({0, -1}));
  const Tensor hidden = tensor({{{0.5, 0.25}, {7, 8}, {9, 6}}});
  EXPECT_TRUE(tensors_near(layer(hidden), tensor({{std::tanh(0.25), 0}}), 1e-6));
  EXPECT_TAPE_ERROR(layer(zeros({2, 4})), ErrorKind::shape, "Pooler: hidden must be [B, T, C], got [2, 4]");
}

TEST(ClassificationHead, AppliesDropoutOnlyInTraining) {
  manual_seed(5);
  ClassificationHead layer(16, 3, {.dropout = 0.5});
  const Tensor pooled = randn({2, 16});
  EXPECT_FALSE(tensors_equal(layer(pooled), layer(pooled)));
  layer.eval();
  EXPECT_TRUE(tensors_equal(layer(pooled), layer.classifier(pooled)));
}

TEST(MaskedTokenHead, ScoresTheNormalizedGeluOfADenseLayer) {
  MaskedTokenHead layer(2, 3);
  layer.dense->weight.detach().copy_(tensor({{0, 2}, {1, 0}}));
  layer.dense->bias.detach().copy_(tensor({1, -1}));
  layer.decoder->weight.detach().copy_(tensor({{1, 0}, {0, 1}, {3, 1}}));
  layer.decoder->bias.detach().copy_(tensor({0.5, 0, 0}));
  // [3, -1] becomes [-1, 2] after the dense layer. The norm maps two different numbers to -1 and 1: gelu(2) is larger.
  EXPECT_TRUE(tensors_near(layer(tensor({{{3, -1}}})), tensor({{{-0.5, 1, -2}}}), 1e-5));
  // [0, -2] becomes [-3, -1], and gelu(-1) = -0.159 is less than gelu(-3) = -0.004.
  EXPECT_TRUE(tensors_near(layer(tensor({{{0, -2}}})), tensor({{{1.5, -1, 2}}}), 1e-3));
}

TEST(NextTokenHead, ReturnsLogitsOrTheirSoftmax) {
  manual_seed(5);
  NextTokenHead logits(4, 7, {.bias = true}), probabilities(4, 7, {.bias = true, .output = TokenOutput::probabilities});
  probabilities.weight.tie(logits.weight);
  const Tensor hidden = randn({2, 3, 4});
  EXPECT_TRUE(tensors_near(probabilities(hidden), softmax(logits(hidden), -1), 1e-6));
  EXPECT_TRUE(tensors_near(sum(probabilities(hidden), {-1}), ones({2, 3}), 1e-6));
  EXPECT_EQ(logits.settings(), "4 -> 7");
  EXPECT_EQ(probabilities.settings(), "4 -> 7, probabilities");
  EXPECT_TAPE_ERROR(NextTokenHead(0, 7), ErrorKind::config, "NextTokenHead: sizes must be at least 1, got 0 -> 7");
}

TEST(NextTokenHead, ReturnsTheLargestScore) {
  manual_seed(8);
  for (const TokenOutput output : {TokenOutput::logits, TokenOutput::probabilities}) {
    const NextTokenHead head(4, 7, {.bias = true, .output = output});
    const Tensor hidden = randn({2, 3, 4}), y = head.forward(hidden).detach();
    EXPECT_TRUE(
        tensors_equal(head.max_with_index(hidden, 5).indices, argmax(slice(y, -1, {.end = 5}), -1, Dims::keep)));
    EXPECT_TRUE(tensors_equal(head.top_k(hidden, 2, 5), keep_top_k(y, 2, 5)));
  }
}

/// 2,000 rows over 5,000 tokens, which take two blocks of scores.
TEST(NextTokenHead, ReturnsTheCrossEntropyOfItsScores) {
  manual_seed(6);
  NextTokenHead head(4, 5000, {.bias = true});
  const Tensor hidden = randn({2, 1000, 4}).requires_grad_();
  const Tensor target = where(lt(randn({2, 1000}), -1), scalar(-100, i64), randint(0, 5000, {2, 1000}));
  const CrossEntropyOptions options{.label_smoothing = 0.1};
  const Tensor wanted = cross_entropy(head.forward(hidden), target, options),
               found = head.cross_entropy(hidden, target, options);
  EXPECT_STREQ(found.impl().node->name(), "linear_cross_entropy");
  EXPECT_TRUE(tensors_near(found, wanted, 1e-5));
  const Tensors leaves{hidden, head.weight, head.bias};
  const Tensors expected = grad({wanted}, leaves), gradients = grad({found}, leaves);
  for (size_t i = 0; i < leaves.size(); ++i) {
    const double scale = max(abs(expected[i])).item();
    EXPECT_TRUE(tensors_near(gradients[i] / scale, expected[i] / scale, 1e-5)) << i;
  }
}

}  // namespace
}  // namespace tape::nn
