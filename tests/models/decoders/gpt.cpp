#include "models/decoders/gpt.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

GptConfig tiny_gpt() {
  return {.vocab = 11, .d_model = 8, .layers = 2, .heads = 2, .d_ff = 12, .max_length = 6, .init_std = 0.3};
}

TEST(Gpt, IsCausal) {
  manual_seed(2);
  Gpt model(tiny_gpt());
  model.eval();
  const Tensor before = model(tensor({{1, 2, 3, 4}}, i64)), after = model(tensor({{1, 2, 9, 8}}, i64));
  EXPECT_TRUE(tensors_equal(slice(before, 1, {.end = 2}), slice(after, 1, {.end = 2})));
  EXPECT_FALSE(tensors_near(slice(before, 1, {.start = 2}), slice(after, 1, {.start = 2}), 1e-3));
}

TEST(Gpt, GivesTheSameLogitsWithACache) {
  manual_seed(2);
  Gpt model(tiny_gpt());
  model.eval();
  const Tensor ids = tensor({{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, i64);
  nn::EncoderCache cache = model.encoder->init_cache();
  Tensors parts;
  for (const auto& [start, end] : {std::pair{0, 2}, std::pair{2, 3}, std::pair{3, 5}})
    parts.push_back(model.forward_cached(slice(ids, 1, {.start = start, .end = end}), cache));
  EXPECT_TRUE(tensors_near(cat(parts, 1), model(ids), 1e-5));
  EXPECT_TAPE_ERROR(model.forward_cached(slice(ids, 1, {.end = 2}), cache), ErrorKind::shape,
                    "embeddings: Embeddings: positions 5 to 6 do not fit into max_length 6");
}

TEST(Gpt, AppliesAMask) {
  manual_seed(2);
  Gpt model(tiny_gpt());
  model.eval();
  const Mask mask = Mask::padding(tensor({{0, 1, 1}}, i64), 0);
  const Tensor a = model(tensor({{1, 2, 3}}, i64), mask), b = model(tensor({{9, 2, 3}}, i64), mask);
  EXPECT_TRUE(tensors_equal(slice(a, 1, {.start = 1}), slice(b, 1, {.start = 1})));
}

TEST(Gpt, ComputesTheLossOfItsLogits) {
  manual_seed(2);
  Gpt model(tiny_gpt());
  model.eval();
  const Tensor ids = tensor({{4, 2, 3}, {1, 5, 9}}, i64), next = tensor({{2, 3, 10}, {5, -100, 0}}, i64);
  const Tensor positions = tensor({{0, 1, 2}, {0, 0, 1}}, i64);
  const Mask mask = Mask::padding(tensor({{1, 1, 1}, {0, 1, 1}}, i64), 0);
  const CrossEntropyOptions options{.label_smoothing = 0.1};
  EXPECT_TRUE(tensors_equal(model.loss(ids, next), cross_entropy(model(ids), next)));
  EXPECT_TRUE(tensors_equal(model.loss(ids, next, options, mask), cross_entropy(model(ids, mask), next, options)));
  EXPECT_TRUE(tensors_equal(model.loss_at(ids, positions, next, options, mask),
                            cross_entropy(model.at(ids, positions, mask), next, options)));
}

TEST(Gpt, ReturnsProbabilitiesIfConfigured) {
  GptConfig config = tiny_gpt();
  config.output = nn::TokenOutput::probabilities;
  Gpt model(config);
  EXPECT_TRUE(tensors_near(sum(model(tensor({{1, 2, 3}}, i64)), {-1}), ones({1, 3}), 1e-5));
}

TEST(Gpt, InitializesResidualProjectionsSmaller) {
  manual_seed(2);
  Gpt model({.vocab = 50, .d_model = 64, .layers = 8, .heads = 2, .max_length = 6});
  EXPECT_EQ(model.config().d_ff, 256);
  const auto deviation = [](const Tensor& x) { return std::sqrt(var(x).item()); };
  EXPECT_NEAR(deviation(model.encoder->layers[3]->self_attention->query->weight), 0.02, 0.001);
  EXPECT_NEAR(deviation(model.encoder->layers[3]->self_attention->output->weight), 0.02 / 4, 0.0003);
  EXPECT_NEAR(deviation(model.encoder->layers[3]->feed_forward.as<nn::FeedForward>()->linear2->weight), 0.02 / 4,
              0.0003);
  EXPECT_NEAR(deviation(model.embeddings->token->weight), 0.02, 0.001);
}

TEST(Gpt, TiesItsOutput) {
  GptConfig config = tiny_gpt();
  Gpt tied(config);
  EXPECT_TRUE(tied.output->weight.is(tied.embeddings->token->weight));
  config.tie_output = false;
  Gpt apart(config);
  EXPECT_FALSE(apart.output->weight.is(apart.embeddings->token->weight));
  EXPECT_EQ(apart.parameter_count() - tied.parameter_count(), 11 * 8);
}

TEST(Gpt, NamesTheInvalidValue) {
  const auto refused = [](const std::function<void(GptConfig&)>& change, const std::string& sentence) {
    GptConfig config = tiny_gpt();
    change(config);
    EXPECT_TAPE_ERROR(Gpt(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.vocab = 0; }, "Gpt: vocab must be at least 1, got 0");
  refused([](auto& c) { c.d_model = 0; }, "Gpt: d_model must be at least 1, got 0");
  refused([](auto& c) { c.layers = 0; }, "Gpt: layers must be at least 1, got 0");
  refused([](auto& c) { c.heads = 0; }, "Gpt: heads must be at least 1, got 0");
  refused([](auto& c) { c.max_length = 0; }, "Gpt: max_length must be at least 1, got 0");
  refused([](auto& c) { c.d_ff = -1; }, "Gpt: d_ff must not be negative, got -1");
  refused([](auto& c) { c.heads = 3; }, "MultiHeadAttention: d_model 8 is not divisible by heads 3");
}

}  // namespace
}  // namespace tape::models
