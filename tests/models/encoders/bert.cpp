#include "models/heads/masked_language_model.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

BertConfig tiny_bert() {
  return {.vocab = 11, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3};
}

TEST(Bert, MasksPaddingUnlessGivenAMask) {
  manual_seed(2);
  Bert model(tiny_bert());
  model.eval();
  const Tensor ids = tensor({{1, 2, 3, 0}}, i64);
  EXPECT_TRUE(tensors_equal(model(ids), model(ids, Mask::padding(ids, 0))));
  EXPECT_FALSE(tensors_near(model(ids), model(ids, Mask()), 1e-3));
  EXPECT_TRUE(tensors_near(slice(model(ids), 1, {.end = 3}), model(tensor({{1, 2, 3}}, i64)), 1e-5));
}

TEST(Bert, IsInitializedAsInThePaper) {
  manual_seed(2);
  Bert model({.vocab = 200, .d_model = 32, .layers = 1, .heads = 2, .d_ff = 64, .max_length = 50});
  EXPECT_NEAR(std::sqrt(var((*model.embeddings->position)->weight).item()), 0.02, 0.001);
  EXPECT_NEAR(std::sqrt(var(model.encoder->layers[0]->feed_forward.as<nn::FeedForward>()->linear1->weight).item()),
              0.02, 0.001);
  EXPECT_EQ(max(abs(model.embeddings->token->weight[0])).item(), 0) << "the padding row";
  EXPECT_EQ(model.encoder->layers[0]->norm1.as<nn::LayerNorm>()->weight[0].item(), 1);
}

TEST(Bert, PoolsIfItHasAPooler) {
  BertConfig config = tiny_bert();
  config.pooler = false;
  Bert without(config);
  EXPECT_TAPE_ERROR(without.pool(zeros({1, 2, 8})), ErrorKind::config, "Bert: this model has no pooler");
  EXPECT_EQ(Bert(tiny_bert()).parameter_count() - without.parameter_count(), 8 * 8 + 8);
}

TEST(Bert, NamesTheInvalidValue) {
  const auto refused = [](const std::function<void(BertConfig&)>& change, const std::string& sentence) {
    BertConfig config = tiny_bert();
    change(config);
    EXPECT_TAPE_ERROR(Bert(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.vocab = 0; }, "Bert: vocab must be at least 1, got 0");
  refused([](auto& c) { c.d_model = 0; }, "Bert: d_model must be at least 1, got 0");
  refused([](auto& c) { c.layers = 0; }, "Bert: layers must be at least 1, got 0");
  refused([](auto& c) { c.heads = 0; }, "Bert: heads must be at least 1, got 0");
  refused([](auto& c) { c.d_ff = 0; }, "Bert: d_ff must be at least 1, got 0");
  refused([](auto& c) { c.max_length = 0; }, "Bert: max_length must be at least 1, got 0");
  refused([](auto& c) { c.dropout = 1; }, "Dropout: the probability must be in [0, 1), got 1");
}

TEST(MaskedLanguageModel, IsTiedAndHasNoPooler) {
  MaskedLanguageModel model(tiny_bert());
  EXPECT_TRUE(model.head->decoder->weight.is(model.base->embeddings->token->weight));
  EXPECT_FALSE(model.base->pooler);
  const Tensor logits = model(tensor({{1, 2, 0}}, i64));
  EXPECT_EQ(to_string(logits.shape()), "[1, 3, 11]");
  cross_entropy(logits, tensor({{-100, 4, -100}}, i64)).backward();
  for (const NamedTensor& parameter : model.named_parameters())
    EXPECT_TRUE(parameter.tensor.grad().defined()) << parameter.name;
}

}  // namespace
}  // namespace tape::models
