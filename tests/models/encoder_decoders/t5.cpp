#include "models/encoder_decoders/t5.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

T5Config small(bool gated) {
  return {.vocab = 11,
          .d_model = 8,
          .layers = 2,
          .decoder_layers = 3,
          .heads = 2,
          .head_width = 3,
          .d_ff = 12,
          .gated = gated,
          .relative_bias = {.buckets = 6, .max_distance = 5},
          .dropout = 0,
          .scale_output = !gated,
          .tie_output = !gated};
}

TEST(T5, ScalesItsOutputIfTied) {
  for (const bool gated : {false, true}) {
    manual_seed(4);
    T5 model(small(gated));
    EXPECT_EQ(model.output->weight.is(model.src_embedding->weight), !gated);
    EXPECT_TRUE(model.src_embedding->weight.is(model.tgt_embedding->weight));
    EXPECT_FALSE(model.output->bias.defined());
    const NoGrad no_grad;
    const Tensor src = tensor({{4, 3, 7}}, i64), tgt = tensor({{0, 5}}, i64), memory = model.encode(src);
    const Tensor hidden = model.decoder(model.tgt_embedding(tgt), memory, target_mask(tgt, 0), source_mask(src, 0));
    EXPECT_TRUE(tensors_near(model(src, tgt), model.output(gated ? hidden : hidden * std::pow(8, -0.5)), 1e-5));
  }
}

TEST(T5, HasOneRelativeBiasPerStack) {
  manual_seed(4);
  T5 model(small(false));
  EXPECT_EQ(model.state_dict().count("encoder.relative_bias.weight"), 1u);
  const NoGrad no_grad;
  const Tensor src = tensor({{4, 3, 7, 2}}, i64), tgt = tensor({{0, 5, 6}}, i64);
  const Tensor before = model(src, tgt);
  // The same value in all buckets changes no softmax; a different one in either stack does.
  for (auto& stack : {&*model.encoder->relative_bias, &*model.decoder->relative_bias}) {
    Tensor weight = (*stack)->weight;
    weight.add_(1.5);
    EXPECT_TRUE(tensors_near(model(src, tgt), before, 1e-4));
    weight[1].add_(1.5);
    EXPECT_FALSE(tensors_near(model(src, tgt), before, 1e-3));
    weight[1].add_(-1.5);
  }
  EXPECT_FALSE(model.max_length()) << "any length is accepted";
  EXPECT_EQ(model.encode(full({1, 200}, 3, i64)).size(1), 200);
}

TEST(T5, DecodesTheSameWithACache) {
  for (const bool gated : {false, true}) {
    manual_seed(8);
    T5 model(small(gated));
    const NoGrad no_grad;
    const Tensor src = tensor({{2, 3, 4}, {5, 6, 0}}, i64), tgt = tensor({{0, 7, 3, 9}, {0, 4, 9, 2}}, i64);
    const Tensor whole = model(src, tgt);
    nn::DecoderCache cache = model.decoder->init_cache(model.encode(src));
    for (const auto& [from, to] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 4}}) {
      const SliceOptions here{.start = from, .end = to};
      EXPECT_TRUE(tensors_near(model.decode_cached(slice(tgt, 1, here), cache, src), slice(whole, 1, here), 1e-5));
    }
  }
}

TEST(T5, TrainsItsBiasesTheSameWithFusedAndComposedAttention) {
  manual_seed(3);
  T5 model(small(false));
  const Tensor src = tensor({{4, 3, 7, 2}, {2, 9, 0, 0}}, i64), tgt = tensor({{0, 5, 6}, {0, 7, 8}}, i64);
  const auto gradients = [&] {
    model.zero_grad();
    sum(square(model(src, tgt))).backward();
    return Tensors{(*model.encoder->relative_bias)->weight.grad().clone(),
                   (*model.decoder->relative_bias)->weight.grad().clone()};
  };
  const Tensors fused = gradients();
  const Composed scope;
  const Tensors composed = gradients();
  for (size_t i = 0; i < fused.size(); ++i) {
    EXPECT_GT(max(abs(fused[i])).item(), 1e-3);
    EXPECT_TRUE(tensors_near(fused[i], composed[i], 1e-3 * max(abs(fused[i])).item()));
  }
}

TEST(T5, DropsOutInputsAndOutputsOfItsStacks) {
  T5Config config = small(false);
  config.dropout = 0.5;
  T5 model(config);
  const NoGrad no_grad;
  const Tensor memory = model.encode(full({4, 50}, 3, i64));
  const double zeros = sum(eq(memory, 0.0).to(f64)).item() / static_cast<double>(memory.numel());
  EXPECT_NEAR(zeros, 0.5, 0.1);
  model.eval();
  EXPECT_GT(min(abs(model.encode(full({4, 50}, 3, i64)))).item(), 0);
}

TEST(T5, IsInitializedAsInTheAuthorsCode) {
  manual_seed(1);
  T5 model({.vocab = 400, .d_model = 64, .layers = 1, .decoder_layers = 1, .heads = 4, .head_width = 16, .d_ff = 256});
  const auto deviation = [](const Tensor& x) { return std::sqrt(mean(square(x.detach().to(f64))).item()); };
  const auto& layer = *model.encoder->layers[0];
  EXPECT_NEAR(deviation(model.src_embedding->weight), 1, 0.02);
  EXPECT_NEAR(deviation(layer.self_attention->query->weight), 1.0 / 32, 1e-3);
  EXPECT_NEAR(deviation(layer.self_attention->key->weight), 1.0 / 8, 4e-3);
  EXPECT_NEAR(deviation(layer.self_attention->output->weight), 1.0 / 8, 4e-3);
  EXPECT_NEAR(deviation((*model.encoder->relative_bias)->weight), 1.0 / 8, 3e-2);
}

TEST(T5, NamesTheInvalidValue) {
  const auto refused = [](const std::function<void(T5Config&)>& change, const std::string& sentence) {
    T5Config config = small(false);
    change(config);
    EXPECT_TAPE_ERROR(T5(config), ErrorKind::config, sentence);
  };
  refused([](auto& c) { c.layers = 0; }, "T5: layers must be at least 1, got 0");
  refused([](auto& c) { c.head_width = 0; }, "T5: head_width must be at least 1, got 0");
  refused([](auto& c) { c.relative_bias.buckets = 2; },
          "RelativeBias: needs at least 2 buckets per direction and a max_distance beyond half of them, got 1 and 5");
  refused([](auto& c) { c.norm_eps = -1; }, "RMSNorm: eps must not be negative, got -1");
}

}  // namespace
}  // namespace tape::models
