// Mixed precision: dtypes of activations, gradients and losses in an AutocastScope, and trainings beside f32's.
#include "autograd/create.h"
#include "autograd/ops/convolution/convolution.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/loss/embedding_loss.h"
#include "autograd/ops/loss/linear_cross_entropy.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/loss/regression_loss.h"
#include "autograd/ops/norm/batch_norm.h"
#include "autograd/ops/norm/group_norm.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/linear_max.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "autograd/transforms/checkpoint.h"
#include "models/decoders/gpt.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/position/positional_encoding.h"
#include "optim/adamw.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor parameter(const Shape& shape) { return randn(shape).requires_grad_(); }

TEST(Autocast, GivesProductsAndEmbeddingsOfF32WeightsInBf16) {
  const Tensor x = parameter({3, 4}), weight = parameter({5, 4}), bias = parameter({5});
  const Tensor ids = tensor({1, 0, 4}, i64);
  EXPECT_EQ(linear(x, weight, bias).dtype(), f32);
  const AutocastScope autocast;
  const Tensor y = linear(x, weight, bias);
  EXPECT_EQ(y.dtype(), bf16);
  EXPECT_TRUE(tensors_near(cast(y, f32), matmul(x, weight, {.transpose_b = true}) + bias, 0.05));
  EXPECT_EQ(embedding(weight, ids).dtype(), bf16);
  // Neither the parameters' dtypes nor f64 change.
  const Tensor wide = linear(cast(x, f64), cast(weight, f64), {});
  EXPECT_EQ(wide.dtype(), f64);
  sum(cast(y, f32)).backward();
  for (const Tensor& input : {x, weight, bias}) EXPECT_EQ(input.grad().dtype(), f32);
}

TEST(Autocast, RoundsGradientsOfActivationsOnly) {
  const Tensor x = parameter({6, 4}), weight = parameter({5, 4}), bias = parameter({5}), dy = randn({6, 5});
  const auto gradients = [&] {
    for (const Tensor& input : {x, weight, bias}) Tensor(input).zero_grad();
    sum(cast(linear(x, weight, bias), f32) * dy).backward();
    return Tensors{x.grad().clone(), weight.grad().clone(), bias.grad().clone()};
  };
  const Tensors exact = gradients();
  const AutocastScope autocast;
  const Tensors rounded = gradients();
  // Operands have 8 bits: 2^-9 of each, and dx is rounded as well.
  EXPECT_TRUE(tensors_near(rounded[0], exact[0], 0.1));
  EXPECT_TRUE(tensors_near(rounded[1], exact[1], 0.1));
  EXPECT_TRUE(tensors_near(rounded[2], exact[2], 0.05));
  EXPECT_FALSE(tensors_equal(rounded[1], cast(cast(rounded[1], bf16), f32)))
      << "sums of weights' gradients have 24 bits";
}

TEST(Autocast, ComputesLossesInF32) {
  const AutocastScope autocast;
  const Tensor logits = cast(randn({4, 5}), bf16), target = tensor({0, 4, 2, 1}, i64);
  const Tensor other = randn({4, 5});
  EXPECT_EQ(cross_entropy(logits, target).dtype(), f32);
  EXPECT_TRUE(tensors_near(cross_entropy(logits, target), cross_entropy(cast(logits, f32), target), 1e-6));
  EXPECT_EQ(nll_loss(log_softmax(logits, -1), target).dtype(), f32);
  EXPECT_EQ(mse_loss(logits, other).dtype(), f32);
  EXPECT_EQ(bce_with_logits_loss(logits, abs(sin(other))).dtype(), f32);
  EXPECT_EQ(gaussian_nll_loss(logits, other, abs(other) + 1).dtype(), f32);
  EXPECT_EQ(triplet_margin_loss(logits, other, -other).dtype(), f32);
  EXPECT_EQ(info_nce(logits, logits).dtype(), f32);
  EXPECT_TRUE(tensors_equal(info_nce(logits, other), info_nce(cast(logits, f32), other)));
  const Tensor x = randn({4, 3}), weight = randn({5, 3});
  const Tensor fused = linear_cross_entropy(x, weight, {}, target, {}, 2);
  EXPECT_EQ(fused.dtype(), f32);
  EXPECT_TRUE(tensors_near(fused, cross_entropy(linear(x, weight, {}), target), 0.05));
}

TEST(Autocast, TakesActivationsBesideParameters) {
  const Tensor x = cast(randn({2, 3, 4}), bf16), weight = randn({4}), bias = randn({4});
  EXPECT_EQ(layer_norm(x, weight, bias, 1e-5).dtype(), bf16);  // without a scope as well
  EXPECT_EQ(rms_norm(x, weight, 1e-5).dtype(), bf16);
  EXPECT_EQ(conv1d(x, randn({2, 3, 2}), randn({2})).dtype(), bf16);
  Tensor running_mean = zeros({3}), running_var = ones({3});
  const Tensor scale = randn({3}), shift = randn({3});
  EXPECT_EQ(batch_norm(x, running_mean, running_var, scale, shift, {.training = true}).dtype(), bf16);
  EXPECT_EQ(running_mean.dtype(), f32);
  EXPECT_FALSE(tensors_equal(running_mean, zeros({3})));
  EXPECT_EQ(batch_norm(x, running_mean, running_var, scale, shift, {.training = false}).dtype(), bf16);
  EXPECT_EQ(group_norm(x, 1, scale, shift).dtype(), bf16);
  nn::LearnedPositionalEncoding learned(4, 8);
  EXPECT_EQ(learned(x).dtype(), f32);
  EXPECT_TAPE_ERROR(matmul(x, randn({4, 2})), ErrorKind::dtype, "matmul: dtypes differ: bf16 and f32");
  const AutocastScope autocast;
  EXPECT_EQ(learned(x).dtype(), bf16);
  nn::PositionalEncoding sinusoids(4, 8);
  EXPECT_EQ(sinusoids(x).dtype(), bf16);
  EXPECT_EQ(matmul(x, randn({4, 2})).dtype(), bf16);
  EXPECT_EQ(matmul(randn({2, 4}), randn({4, 2})).dtype(), f32);
}

TEST(Autocast, ChoosesTheLikeliestFromRoundedScores) {
  const AutocastScope autocast;
  const Tensor x = randn({1, 1024}), weight = randn({400, 1024});
  keep_packed(weight, true);
  for (int64_t read = 0; read <= kReadsBeforeInt8 + 1; ++read) {  // int8 copies are not used
    const TopK best = linear_max(x, weight, {});
    EXPECT_TRUE(tensors_equal(best.indices, max_with_index(linear(x, weight, {})).indices));
    EXPECT_TRUE(tensors_equal(best.values, max_with_index(linear(x, weight, {})).values));
  }
}

TEST(Autocast, IsOffOnTheCpuWithoutAScope) {
  const Tensor x = randn({3, 4}), weight = randn({5, 4});
  const MatmulPrecisionScope medium(MatmulPrecision::medium);
  EXPECT_EQ(linear(x, weight, {}).dtype(), f32);
  EXPECT_FALSE(is_autocast_enabled(cpu));
  EXPECT_TRUE(is_autocast_enabled(cuda));
  const AutocastScope on;
  EXPECT_TRUE(is_autocast_enabled(cpu));
  const AutocastScope off(f32);
  EXPECT_FALSE(is_autocast_enabled(cpu));
  EXPECT_FALSE(is_autocast_enabled(cuda));
  EXPECT_TAPE_ERROR(AutocastScope{f16}, ErrorKind::dtype,
                    "AutocastScope: needs bf16, or f32 to turn autocast off, got f16");
}

TEST(Autocast, IsTheSameWhenACheckpointRunsAgain) {
  const Tensor x = parameter({3, 4}), weight = parameter({5, 4});
  std::vector<DType> dtypes;
  Tensor y;
  {
    const AutocastScope autocast;
    y = checkpoint(
        [&](const Tensors& in) {
          const Tensor product = linear(in[0], weight, {});
          dtypes.push_back(product.dtype());
          return Tensors{product};
        },
        {x})[0];
  }
  sum(cast(y, f32)).backward();
  EXPECT_EQ(dtypes, (std::vector<DType>{bf16, bf16}));
}

/// Losses of 60 steps on random sequences that repeat, for which `loss` returns that of a batch [4, 17].
template <class Model, class Loss>
std::vector<double> losses_of(Model& model, const Loss& loss) {
  optim::AdamW optimizer(model.parameters(), {.lr = 3e-3});
  Generator data(5);
  const Tensor rows = randint(1, 11, {8, 17}, data);
  std::vector<double> losses;
  for (int step = 0; step < 60; ++step) {
    const Tensor value = loss(slice(rows, 0, {.start = 4 * (step % 2), .end = 4 * (step % 2) + 4}));
    EXPECT_EQ(value.dtype(), f32);
    optimizer.zero_grad();
    value.backward();
    optimizer.step();
    losses.push_back(value.item());
  }
  return losses;
}

std::vector<double> gpt_losses() {
  manual_seed(1);
  models::Gpt model({.vocab = 11, .d_model = 32, .layers = 2, .heads = 4, .max_length = 16});
  return losses_of(
      model, [&](const Tensor& ids) { return model.loss(slice(ids, 1, {.end = 16}), slice(ids, 1, {.start = 1})); });
}

std::vector<double> transformer_losses() {
  manual_seed(1);
  models::Transformer model({.src_vocab = 11, .tgt_vocab = 11, .d_model = 32, .layers = 2, .heads = 4, .d_ff = 64});
  return losses_of(model, [&](const Tensor& ids) {
    return model.loss(slice(ids, 1, {.start = 1}), slice(ids, 1, {.end = 16}), slice(ids, 1, {.start = 1}),
                      {.label_smoothing = 0.1});
  });
}

void expect_losses_near_those_of_f32(std::vector<double> (*losses)()) {
  const std::vector<double> exact = losses();
  const AutocastScope autocast;
  const std::vector<double> rounded = losses();
  double sum = 0, off = 0;
  for (size_t step = exact.size() - 10; step < exact.size(); ++step) sum += exact[step], off += rounded[step];
  EXPECT_NE(exact, rounded);
  EXPECT_NEAR(off / sum, 1, 0.02);
}

TEST(Autocast, TrainsAGptLikeF32) { expect_losses_near_those_of_f32(gpt_losses); }
TEST(Autocast, TrainsAnEncoderDecoderLikeF32) { expect_losses_near_those_of_f32(transformer_losses); }

}  // namespace
}  // namespace tape
