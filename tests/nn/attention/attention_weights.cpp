#include "nn/attention/attention_weights.h"

#include <optional>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/reduce/reduce.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/attention/attention.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

models::TransformerConfig small() {
  return {.src_vocab = 7, .tgt_vocab = 9, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 8};
}

TEST(AttentionWeights, EqualTheWeightsThatTheCallReturns) {
  manual_seed(1);
  MultiHeadAttention layer(4, 2);
  const Tensor x = randn({1, 3, 4});
  layer(x);
  Tensor kept;
  {
    const AttentionWeights weights(layer);
    EXPECT_FALSE(weights.of(layer).defined()) << "it was not called in the scope";
    layer(x, Mask::causal());
    kept = weights.of(layer);
  }
  ASSERT_TRUE(kept.defined());
  EXPECT_TRUE(tensors_equal(kept, layer.with_weights(x, x, x, Mask::causal()).weights.detach()));
  EXPECT_FALSE(kept.requires_grad());
}

TEST(AttentionWeights, DoNotChangeValuesOrGradients) {
  for (const bool composed : {false, true}) {
    std::optional<Composed> unfused;
    if (composed) unfused.emplace();
    const auto gradient = [&](bool watched) {
      manual_seed(2);
      MultiHeadAttention layer(4, 2, {.dropout = 0.3});
      const Tensor x = randn({2, 3, 4}).requires_grad_();
      std::optional<AttentionWeights> weights;
      if (watched) weights.emplace(layer);
      const Tensor y = layer(x, Mask::causal());
      sum(y * y).backward();
      return std::pair(y.to_vector<float>(), x.grad().to_vector<float>());
    };
    EXPECT_EQ(gradient(true), gradient(false));
  }
}

TEST(AttentionWeights, AreSavedPerModule) {
  manual_seed(3);
  models::Transformer model(small());
  model.eval();
  const Tensor src = randint(1, 7, {2, 5}), tgt = randint(1, 9, {2, 3});
  MultiHeadAttention& cross = *model.decoder->layers[1]->cross_attention;
  const AttentionWeights all(model), one(model, {&cross});
  model(src, tgt);
  EXPECT_EQ(to_string(all.of(*model.encoder->layers[0]->self_attention).shape()), "[2, 2, 5, 5]");
  EXPECT_EQ(to_string(all.of(*model.decoder->layers[0]->self_attention).shape()), "[2, 2, 3, 3]");
  EXPECT_EQ(to_string(one.of(cross).shape()), "[2, 2, 3, 5]");
  EXPECT_TRUE(tensors_equal(all.of(cross), one.of(cross)));
  EXPECT_FALSE(tensors_equal(all.of(cross), all.of(*model.decoder->layers[0]->cross_attention)));
  EXPECT_FALSE(one.of(*model.encoder->layers[0]->self_attention).defined());
}

/// Regardless of the model's owner and of where the scope was opened.
TEST(AttentionWeights, FindAModelInsideAnother) {
  struct Owner : Layer<Owner> {
    Child<MultiHeadAttention> attention{this, "attention", 4, 2};
    Tensor weights;
    Tensor forward(const Tensor& x) {
      const AttentionWeights kept(*attention);
      const Tensor y = attention(x);
      weights = kept.of(*attention);
      return y;
    }
  };
  Owner owner;
  owner(randn({1, 3, 4}));
  EXPECT_TRUE(owner.weights.defined());
  const AttentionWeights kept(owner);
  owner(randn({1, 2, 4}));
  EXPECT_EQ(kept.of(*owner.attention).size(-1), 2);
}

}  // namespace
}  // namespace tape::nn
