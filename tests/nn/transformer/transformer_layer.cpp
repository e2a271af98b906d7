#include "nn/transformer/transformer_layer.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "nn/transformer/decoder.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

const TransformerLayerOptions as_llama{.d_model = 8,
                                       .heads = 4,
                                       .d_ff = 12,
                                       .dropout = 0,
                                       .activation = ActivationKind::silu,
                                       .norm = NormPlace::pre,
                                       .norm_eps = 1e-6,
                                       .norm_kind = NormKind::rms_norm,
                                       .feed_forward = FeedForwardKind::gated,
                                       .bias = false,
                                       .kv_heads = 2,
                                       .rotary = RotaryOptions{}};

TEST(TransformerLayerOptions, SelectTheClassesOfABlock) {
  EncoderLayer plain({.d_model = 8, .heads = 2, .d_ff = 4}), llama(as_llama);
  EXPECT_TRUE(plain.norm1.is<LayerNorm>());
  EXPECT_TRUE(plain.feed_forward.is<FeedForward>());
  EXPECT_EQ(plain.self_attention->rotary, nullptr);
  EXPECT_TRUE(llama.norm2.is<RMSNorm>());
  EXPECT_TRUE(llama.feed_forward.is<GatedFeedForward>());
  std::string parts;
  for (const auto& [name, module] : llama.named_modules())
    if (!name.empty()) parts += fmt::format("{}: {}({})\n", name, module->type_name(), module->settings());
  EXPECT_EQ(parts,
            "self_attention: MultiHeadAttention(8, 4 heads, 2 kv heads)\n"
            "self_attention.query: Linear(8 -> 8, no bias)\n"
            "self_attention.key: Linear(8 -> 4, no bias)\n"
            "self_attention.value: Linear(8 -> 4, no bias)\n"
            "self_attention.output: Linear(8 -> 8, no bias)\n"
            "self_attention.rotary: Rotary(2 of 2 columns, halves, theta 10000)\n"
            "feed_forward: GatedFeedForward()\n"
            "feed_forward.gate: Linear(8 -> 12, no bias)\n"
            "feed_forward.up: Linear(8 -> 12, no bias)\n"
            "feed_forward.activation: Activation(silu)\n"
            "feed_forward.dropout: Dropout(0)\n"
            "feed_forward.down: Linear(12 -> 8, no bias)\n"
            "norm1: RMSNorm(8, eps 1e-06)\n"
            "norm2: RMSNorm(8, eps 1e-06)\n"
            "dropout: Dropout(0)\n");
}

TEST(Choice, HoldsTheSelectedModule) {
  EncoderLayer plain({.d_model = 8, .heads = 2, .d_ff = 4});
  EXPECT_EQ(plain.norm1->type_name(), "LayerNorm");
  EXPECT_TRUE(plain.norm1.as<LayerNorm>()->bias.defined());
  EXPECT_TAPE_ERROR(plain.norm1.as<RMSNorm>(), ErrorKind::config, "norm1: the module is of another class, LayerNorm");
}

TEST(EncoderLayer, AgreesWithLlama) {
  Encoder encoder(2, as_llama);
  expect_agrees_with_torch(
      TorchCase("variants", "llama"),
      [&](const Named& in) {
        return Named{{"y", encoder(in.at("x"), Mask::causal())}};
      },
      &encoder);
}

/// Compares a layer of "decoder_layers" under a given mask.
template <class M>
void expect_layer_as_torch(const std::string& name, M& module, const Mask& mask = {}) {
  expect_agrees_with_torch(
      TorchCase("decoder_layers", name),
      [&](const Named& in) {
        return Named{{"y", module(in.at("x"), mask)}};
      },
      &module);
}

TransformerLayerOptions as_neox() {
  return {.d_model = 8,
          .heads = 2,
          .d_ff = 12,
          .dropout = 0,
          .activation = ActivationKind::gelu,
          .norm = NormPlace::pre,
          .rotary = RotaryOptions{.fraction = 0.5},
          .residual = ResidualKind::parallel};
}

TEST(EncoderLayer, AgreesWithGptNeoX) {
  EncoderLayer layer(as_neox());
  expect_layer_as_torch("gpt-neox", layer, Mask::causal());
}

TEST(EncoderLayer, AgreesWithGptJ) {
  TransformerLayerOptions options = as_neox();
  options.activation = ActivationKind::gelu_tanh;
  options.rotary->pairing = RotaryPairing::interleaved;
  options.attention_bias = options.attention_output_bias = false;
  options.residual = ResidualKind::parallel_one_norm;
  EncoderLayer layer(options);
  EXPECT_TRUE(layer.norm2.is<Identity>());
  expect_layer_as_torch("gpt-j", layer, Mask::causal());
}

/// ModernBERT's layer 0, global and without an attention norm, and layer 1, local.
std::vector<TransformerLayerOptions> as_modernbert() {
  TransformerLayerOptions global{.d_model = 8,
                                 .heads = 2,
                                 .d_ff = 12,
                                 .dropout = 0,
                                 .activation = ActivationKind::gelu,
                                 .norm = NormPlace::pre,
                                 .feed_forward = FeedForwardKind::gated,
                                 .bias = false,
                                 .rotary = RotaryOptions{.theta = 160000},
                                 .norm_bias = false};
  TransformerLayerOptions local = global;
  global.attention_norm = false;
  local.rotary->theta = 10000;
  local.window = AttentionWindow::around(4);
  return {global, local};
}

TEST(Encoder, AgreesWithModernBertForDifferentLayers) {
  Encoder encoder(as_modernbert());
  EXPECT_EQ(encoder.layers[0]->norm1->type_name(), "Identity");
  EXPECT_EQ(encoder.layers[1]->self_attention->settings(), "8, 2 heads, window from 2 before to 2 after");
  expect_layer_as_torch("modernbert", encoder);
}

TEST(Encoder, SupportsACacheForDifferentLayers) {
  manual_seed(4);
  std::vector<TransformerLayerOptions> options = as_modernbert();
  options[1].window = AttentionWindow::sliding(20);
  options.push_back(as_neox());
  Encoder encoder(options);
  encoder.to(f64);
  const Tensor x = randn({2, 60, 8}, f64);
  EncoderCache cache = encoder.init_cache();
  Tensors parts;
  for (int64_t t = 0; t < 60; ++t)
    parts.push_back(encoder.forward_cached(slice(x, 1, {.start = t, .end = t + 1}), cache));
  EXPECT_EQ(cache[0].size(), 60);
  EXPECT_LT(cache[1].size(), 40);
  EXPECT_TRUE(tensors_near(cat(parts, 1), encoder(x, Mask::causal()), 1e-12));
  // Each text has its own positions; in one call and in parts.
  std::vector<int64_t> places;
  for (const int64_t padding : {0, 7})
    for (int64_t t = 0; t < 60; ++t) places.push_back(std::max<int64_t>(t - padding, 0));
  const Tensor ids = from_vector(places, {2, 60});
  cache = encoder.init_cache(), parts.clear();
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 33}, {33, 60}})
    parts.push_back(encoder.forward_cached(slice(x, 1, {.start = begin, .end = end}), cache, {},
                                           slice(ids, 1, {.start = begin, .end = end})));
  EXPECT_TRUE(tensors_near(cat(parts, 1), encoder(x, Mask::causal(), ids), 1e-12));
}

TEST(TransformerLayerOptions, RefuseInconsistentSettings) {
  TransformerLayerOptions options = as_neox();
  options.norm = NormPlace::post;
  EXPECT_TAPE_ERROR(EncoderLayer(options), ErrorKind::config,
                    "TransformerLayerOptions: a parallel residual requires NormPlace::pre");
  options.residual = ResidualKind::sequential, options.attention_norm = false;
  EXPECT_TAPE_ERROR(EncoderLayer(options), ErrorKind::config,
                    "TransformerLayerOptions: attention_norm = false requires NormPlace::pre");
  EXPECT_TAPE_ERROR(DecoderLayer(as_neox()), ErrorKind::config,
                    "DecoderLayer: only encoder layers can have a parallel residual");
  EXPECT_TAPE_ERROR(Encoder(std::vector<TransformerLayerOptions>{}), ErrorKind::config,
                    "Encoder: needs the options of at least one layer");
  options.attention_norm = true;
  EXPECT_TAPE_ERROR(Encoder({as_neox(), options}), ErrorKind::config,
                    "Encoder: all layers must have the same d_model and the same norm placement");
}

TEST(Encoder, EqualsACausalEncoderWithAGroupedCache) {
  manual_seed(4);
  Encoder encoder(2, as_llama);
  encoder.to(f64);
  const Tensor x = randn({2, 5, 8}, f64);
  EncoderCache cache = encoder.init_cache();
  Tensors parts;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 3}, {3, 4}, {4, 5}})
    parts.push_back(encoder.forward_cached(slice(x, 1, {.start = first, .end = last}), cache));
  EXPECT_TRUE(tensors_near(cat(parts, 1), encoder(x, Mask::causal()), 1e-12));
}

TEST(Decoder, ReturnsTheSameOutputWithAGroupedCache) {
  manual_seed(5);
  Decoder decoder(2, as_llama);
  decoder.to(f64);
  // Groups and rotation apply only to self-attention.
  EXPECT_EQ(decoder.layers[0]->cross_attention->settings(), "8, 4 heads");
  EXPECT_EQ(decoder.layers[0]->cross_attention->rotary, nullptr);
  const Tensor x = randn({2, 4, 8}, f64), memory = randn({2, 3, 8}, f64);
  DecoderCache cache = decoder.init_cache(memory);
  Tensors parts;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 1}, {1, 4}})
    parts.push_back(decoder.forward_cached(slice(x, 1, {.start = first, .end = last}), cache));
  EXPECT_TRUE(tensors_near(cat(parts, 1), decoder(x, memory), 1e-12));
}

}  // namespace
}  // namespace tape::nn
