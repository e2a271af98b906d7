#include "nn/transformer/decoder.h"

#include <fmt/format.h>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// Sizes as in make_layers.py.
TransformerLayerOptions decoder_options(NormPlace norm, ActivationKind activation) {
  return {.d_model = 8,
          .heads = 2,
          .d_ff = 12,
          .dropout = 0,
          .activation = activation,
          .norm = norm,
          .norm_eps = activation == ActivationKind::relu ? 1e-5 : 1e-2};
}

template <class M>
void expect_decoder_as_torch(const std::string& name, M& module) {
  const TorchCase c("encoder_decoder", name);
  const Mask mask = Mask::padding(c.in.at("ids"), 0), memory_mask = Mask::padding(c.in.at("memory_ids"), 0);
  expect_agrees_with_torch(
      c,
      [&](const Named& in) {
        return Named{{"y", module(in.at("x"), in.at("memory"), mask, memory_mask)}};
      },
      &module);
}

TEST(DecoderLayer, AgreesWithTorch) {
  for (const auto& [place, norm] : {std::pair{"post", NormPlace::post}, {"pre", NormPlace::pre}}) {
    for (const ActivationKind activation : {ActivationKind::relu, ActivationKind::gelu}) {
      DecoderLayer layer(decoder_options(norm, activation));
      expect_decoder_as_torch(fmt::format("decoder layer {} {}", place, to_string(activation)), layer);
    }
  }
}

/// Without dropout, its position makes no difference.
TEST(DecoderLayer, CanApplyDropoutAfterItsNorms) {
  TransformerLayerOptions options = decoder_options(NormPlace::post_dropout, ActivationKind::relu);
  DecoderLayer layer(options);
  expect_decoder_as_torch("decoder layer post relu", layer);
  options.dropout = 0.5;
  DecoderLayer dropper(options);
  const double zeros = sum(cast(eq(dropper(randn({4, 5, 8}), randn({4, 3, 8})), 0), f64)).item();
  EXPECT_GT(zeros, 40);
  EXPECT_LT(zeros, 120);
}

TEST(Decoder, AgreesWithTorch) {
  Decoder post(2, decoder_options(NormPlace::post, ActivationKind::relu));
  Decoder pre(2, decoder_options(NormPlace::pre, ActivationKind::relu));
  expect_decoder_as_torch("decoder post relu", post);
  expect_decoder_as_torch("decoder pre relu", pre);
}

TEST(Decoder, ReturnsTheSameOutputWithACache) {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre}) {
    manual_seed(6);
    Decoder decoder(2, decoder_options(norm, ActivationKind::gelu));
    decoder.to(f64);
    const Tensor x = randn({2, 5, 8}, f64), memory = randn({2, 4, 8}, f64);
    const Mask memory_mask = Mask::padding(tensor({{1, 1, 1, 0}, {1, 1, 0, 0}}, i64), 0);
    DecoderCache cache = decoder.init_cache(memory);
    Tensors parts;
    for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 1}, {1, 4}, {4, 5}})
      parts.push_back(decoder.forward_cached(slice(x, 1, {.start = first, .end = last}), cache, memory_mask));
    EXPECT_TRUE(tensors_near(cat(parts, 1), decoder(x, memory, Mask(), memory_mask), 1e-12));
  }
}

TEST(Decoder, AddsARelativeBiasInEveryLayer) {
  manual_seed(6);
  TransformerLayerOptions options = decoder_options(NormPlace::pre, ActivationKind::gelu);
  options.attention_scale = 1;
  options.relative_bias = RelativeBiasOptions{.buckets = 4, .max_distance = 6, .direction = RelativeDirection::past};
  Decoder decoder(2, options);
  decoder.to(f64);
  const NoGrad no_grad;
  Tensor((*decoder.relative_bias)->weight).mul_(50);  // large enough to matter
  const Tensor x = randn({2, 5, 8}, f64), memory = randn({2, 4, 8}, f64);
  const Mask hidden = Mask::padding(tensor({{1, 1, 1, 0}, {1, 1, 0, 0}}, i64), 0);
  const Mask bias = Mask::additive((*decoder.relative_bias)(5, 5));
  Tensor h = x;
  for (int64_t i = 0; i < 2; ++i) h = decoder.layers[i](h, memory, bias, hidden);
  const Tensor wanted = (*decoder.norm)(h);
  EXPECT_TRUE(tensors_near(decoder(x, memory, Mask(), hidden), wanted, 1e-12));
  DecoderCache cache = decoder.init_cache(memory);
  Tensors parts;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 1}, {1, 4}, {4, 5}})
    parts.push_back(decoder.forward_cached(slice(x, 1, {.start = first, .end = last}), cache, hidden));
  EXPECT_TRUE(tensors_near(cat(parts, 1), wanted, 1e-12));
  options.relative_bias.reset();
  EXPECT_EQ(Decoder(1, options).relative_bias, nullptr);
}

TEST(Decoder, RefusesOptionsOutOfRange) {
  const TransformerLayerOptions fits = decoder_options(NormPlace::post, ActivationKind::relu);
  TransformerLayerOptions wrong = fits;
  wrong.heads = 3;
  EXPECT_TAPE_ERROR(DecoderLayer(wrong), ErrorKind::config,
                    "MultiHeadAttention: d_model 8 is not divisible by heads 3");
  EXPECT_TAPE_ERROR(Decoder(-2, fits), ErrorKind::config, "layers: the number of modules must not be negative, got -2");
}

TEST(Decoder, RefusesCachesAndMemoriesOfOtherSizes) {
  const TransformerLayerOptions fits = decoder_options(NormPlace::post, ActivationKind::relu);
  Decoder decoder(2, fits);
  DecoderCache cache(1);
  EXPECT_TAPE_ERROR(decoder.forward_cached(zeros({1, 1, 8}), cache), ErrorKind::config,
                    "Decoder: got a cache of 1 layers for 2 layers");
  EXPECT_TAPE_ERROR(decoder(zeros({2, 3, 8}), zeros({3, 3, 8})), ErrorKind::shape,
                    "layers.0.cross_attention: scaled_dot_product_attention: leading axes differ: query [2, 3, 8], key "
                    "[3, 3, 8], value [3, 3, 8]");
}

}  // namespace
}  // namespace tape::nn
