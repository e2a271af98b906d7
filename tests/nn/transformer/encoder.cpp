#include "nn/transformer/encoder.h"

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
TransformerLayerOptions encoder_options(NormPlace norm, ActivationKind activation) {
  return {.d_model = 8,
          .heads = 2,
          .d_ff = 12,
          .dropout = 0,
          .activation = activation,
          .norm = norm,
          .norm_eps = activation == ActivationKind::relu ? 1e-5 : 1e-2};
}

template <class M>
void expect_encoder_as_torch(const std::string& name, M& module, const Mask& mask = {}) {
  const TorchCase c("encoder_decoder", name);
  const Mask both = mask & Mask::padding(c.in.at("ids"), 0);
  expect_agrees_with_torch(
      c,
      [&](const Named& in) {
        return Named{{"y", module(in.at("x"), both)}};
      },
      &module);
}

TEST(EncoderLayer, AgreesWithTorch) {
  for (const auto& [place, norm] : {std::pair{"post", NormPlace::post}, {"pre", NormPlace::pre}}) {
    for (const ActivationKind activation : {ActivationKind::relu, ActivationKind::gelu}) {
      EncoderLayer layer(encoder_options(norm, activation));
      expect_encoder_as_torch(fmt::format("encoder layer {} {}", place, to_string(activation)), layer);
    }
  }
}

TEST(Encoder, AgreesWithTorch) {
  Encoder post(2, encoder_options(NormPlace::post, ActivationKind::relu));
  Encoder pre(2, encoder_options(NormPlace::pre, ActivationKind::relu));
  expect_encoder_as_torch("encoder post relu", post, Mask::causal());
  expect_encoder_as_torch("encoder pre relu", pre, Mask::causal());
}

TEST(EncoderLayer, AppliesDropoutAfterItsNorm) {
  EncoderLayer layer(encoder_options(NormPlace::post_dropout, ActivationKind::relu));
  expect_encoder_as_torch("encoder layer post relu", layer);
  // Dropout is the layer's last step, so the output has zeros, which a norm would not produce.
  TransformerLayerOptions dropping = encoder_options(NormPlace::post_dropout, ActivationKind::relu);
  dropping.dropout = 0.5;
  EncoderLayer dropper(dropping);
  const Tensor y = dropper(randn({4, 5, 8}));
  const double zeros = sum(cast(eq(y, 0), f64)).item();
  EXPECT_GT(zeros, 40);
  EXPECT_LT(zeros, 120);
}

TEST(EncoderLayer, HasSeparateDropoutOptions) {
  TransformerLayerOptions options = encoder_options(NormPlace::post, ActivationKind::relu);
  options.dropout = 0.1;
  EXPECT_EQ(EncoderLayer(options).self_attention->settings(), "8, 2 heads, dropout 0.1");
  EXPECT_EQ(EncoderLayer(options).feed_forward.as<FeedForward>()->dropout->settings(), "0.1");
  options.attention_dropout = 0.2, options.activation_dropout = 0;
  EXPECT_EQ(EncoderLayer(options).self_attention->settings(), "8, 2 heads, dropout 0.2");
  EXPECT_EQ(EncoderLayer(options).feed_forward.as<FeedForward>()->dropout->settings(), "0");
  EXPECT_EQ(EncoderLayer(options).dropout->settings(), "0.1");
}

TEST(Encoder, EqualsACausalEncoderWithACache) {
  for (const NormPlace norm : {NormPlace::post, NormPlace::pre, NormPlace::post_dropout}) {
    manual_seed(4);
    Encoder encoder(2, encoder_options(norm, ActivationKind::gelu));
    encoder.to(f64);
    const Tensor x = randn({2, 5, 8}, f64);
    const Tensor ids = tensor({{0, 0, 1, 1, 1}, {1, 1, 1, 1, 1}}, i64);
    const Tensor whole = encoder(x, Mask::causal() & Mask::padding(ids, 0));
    EncoderCache cache = encoder.init_cache();
    Tensors parts;
    for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 3}, {3, 4}, {4, 5}}) {
      const Mask seen = Mask::padding(slice(ids, 1, {.end = last}), 0);
      parts.push_back(encoder.forward_cached(slice(x, 1, {.start = first, .end = last}), cache, seen));
    }
    EXPECT_TRUE(tensors_near(cat(parts, 1), whole, 1e-12));
  }
}

TEST(Encoder, AddsARelativeBiasInEveryLayer) {
  manual_seed(4);
  TransformerLayerOptions options = encoder_options(NormPlace::pre, ActivationKind::gelu);
  options.attention_scale = 1;
  options.relative_bias = RelativeBiasOptions{.buckets = 6, .max_distance = 4};
  Encoder encoder(2, options);
  encoder.to(f64);
  const NoGrad no_grad;
  Tensor((*encoder.relative_bias)->weight).mul_(50);  // large enough to matter
  const Tensor x = randn({2, 5, 8}, f64);
  const Mask hidden = Mask::padding(tensor({{0, 0, 1, 1, 1}, {1, 1, 1, 1, 1}}, i64), 0);
  const Mask bias = Mask::additive((*encoder.relative_bias)(5, 5));
  for (const Mask& mask : {Mask(), Mask::causal()}) {
    Tensor h = x;
    for (int64_t i = 0; i < 2; ++i) h = encoder.layers[i](h, mask & hidden & bias);
    EXPECT_TRUE(tensors_near(encoder(x, mask & hidden), (*encoder.norm)(h), 1e-12));
  }
  EncoderCache cache = encoder.init_cache();
  Tensors parts;
  for (const auto& [first, last] : {std::pair<int64_t, int64_t>{0, 2}, {2, 3}, {3, 5}})
    parts.push_back(encoder.forward_cached(slice(x, 1, {.start = first, .end = last}), cache));
  EXPECT_TRUE(tensors_near(cat(parts, 1), encoder(x, Mask::causal()), 1e-12));
  const Mask nothing = Mask::padding(zeros({2, 5}, i64), 0);
  cache = encoder.init_cache();
  EXPECT_TRUE(tensors_near(encoder.forward_cached(x, cache, nothing), encoder(x, Mask::causal() & nothing), 1e-12));
}

TEST(Encoder, HasAFinalNormIfPreNorm) {
  EXPECT_EQ(Encoder(1, encoder_options(NormPlace::post, ActivationKind::relu)).norm, nullptr);
  EXPECT_NE(Encoder(1, encoder_options(NormPlace::pre, ActivationKind::relu)).norm, nullptr);
}

TEST(Encoder, ReturnsItsInputWithoutLayers) {
  Encoder none(0, encoder_options(NormPlace::post, ActivationKind::relu));
  const Tensor x = randn({1, 2, 8});
  EXPECT_TRUE(tensors_equal(none(x), x));
}

TEST(Encoder, RefusesOptionsOutOfRange) {
  const TransformerLayerOptions fits = encoder_options(NormPlace::post, ActivationKind::relu);
  TransformerLayerOptions wrong = fits;
  EXPECT_TAPE_ERROR(Encoder(-1, fits), ErrorKind::config, "layers: the number of modules must not be negative, got -1");
  wrong.heads = 3;
  EXPECT_TAPE_ERROR(EncoderLayer(wrong), ErrorKind::config,
                    "MultiHeadAttention: d_model 8 is not divisible by heads 3");
  wrong = fits, wrong.d_ff = 0;
  EXPECT_TAPE_ERROR(EncoderLayer(wrong), ErrorKind::config, "Linear: sizes must be at least 1, got 8 -> 0");
  wrong = fits, wrong.norm_eps = -1;
  EXPECT_TAPE_ERROR(EncoderLayer(wrong), ErrorKind::config, "LayerNorm: eps must not be negative, got -1");
  wrong = fits, wrong.dropout = 1.1;
  EXPECT_TAPE_ERROR(EncoderLayer(wrong), ErrorKind::config,
                    "MultiHeadAttention: the probability must be in [0, 1), got 1.1");
  wrong = fits, wrong.attention_dropout = -1;
  EXPECT_TAPE_ERROR(EncoderLayer(wrong), ErrorKind::config,
                    "MultiHeadAttention: the probability must be in [0, 1), got -1");
  wrong = fits, wrong.activation_dropout = 2;
  EXPECT_TAPE_ERROR(EncoderLayer(wrong), ErrorKind::config, "Dropout: the probability must be in [0, 1), got 2");
}

TEST(Encoder, RefusesCachesAndInputsOfOtherSizes) {
  const TransformerLayerOptions fits = encoder_options(NormPlace::post, ActivationKind::relu);
  Encoder encoder(2, fits);
  EncoderCache other(3);
  EXPECT_TAPE_ERROR(encoder.forward_cached(zeros({2, 3, 8}), other), ErrorKind::config,
                    "Encoder: got a cache of 3 layers for 2 layers");
  EXPECT_TAPE_ERROR(encoder(zeros({2, 3, 9})), ErrorKind::shape,
                    "layers.0.self_attention.query: linear: inner sizes differ: x [2, 3, 9] x weight [8, 8] (9 vs 8)");
}

TEST(Encoder, OwnsThePositionRowsOfDisentangledAttention) {
  TransformerLayerOptions options{.d_model = 8, .heads = 2, .d_ff = 12, .dropout = 0};
  options.disentangled = DisentangledAttentionOptions{.max_distance = 3};
  Encoder encoder(2, options);
  EXPECT_EQ((*encoder.relative_rows)->settings(), "6 x 8");
  EXPECT_TRUE(encoder.layers[0]->self_attention.is<DisentangledAttention>());
  const Tensor x = randn({1, 4, 8});
  Tensor h = x;
  for (int64_t i = 0; i < 2; ++i) h = encoder.layers[i](h, Mask(), Positions(), (*encoder.relative_rows)->weight);
  EXPECT_TRUE(tensors_equal(encoder(x), h));
  EXPECT_TAPE_ERROR(encoder.layers[0](x), ErrorKind::shape,
                    "layers.0.self_attention: DisentangledAttention: positions must be [6, C], got none");
  EncoderCache cache = encoder.init_cache();
  EXPECT_TAPE_ERROR(encoder.forward_cached(x, cache), ErrorKind::config,
                    "layers.0: self_attention: the module is of another class, DisentangledAttention");
  TransformerLayerOptions other = options;
  other.disentangled = std::nullopt;
  EXPECT_TAPE_ERROR(Encoder({options, other}), ErrorKind::config,
                    "Encoder: all layers must have disentangled attention with the same number of rows, or none");
}

TEST(EncoderLayer, AppliesDropoutToTheSelectedOutputs) {
  manual_seed(3);
  TransformerLayerOptions options{
      .d_model = 8, .heads = 2, .d_ff = 12, .dropout = 0.5, .attention_dropout = 0.0, .activation_dropout = 0.0};
  const Tensor x = randn({1, 4, 8});
  for (const DropoutPlacement dropped : {DropoutPlacement::attention, DropoutPlacement::feed_forward}) {
    options.dropped = dropped;
    EncoderLayer layer(options);
    const bool attention = dropped == DropoutPlacement::attention;
    // Without the other sublayer's dropout, the layer draws or does not.
    for (const bool silent_attention : {true, false}) {
      const nn::Linear& last =
          silent_attention ? *layer.self_attention->output : *layer.feed_forward.as<FeedForward>()->linear2;
      const Tensor weight = last.weight.detach().clone();
      Tensor(last.weight).detach().zero_();
      EXPECT_EQ(static_cast<bool>(tensors_equal(layer(x), layer(x))), silent_attention == attention);
      Tensor(last.weight).detach().copy_(weight);
    }
  }
  options.norm = NormPlace::pre, options.residual = ResidualKind::parallel;
  EXPECT_TAPE_ERROR(EncoderLayer(options), ErrorKind::config,
                    "EncoderLayer: a parallel residual needs dropout on the outputs of both sublayers");
}

}  // namespace
}  // namespace tape::nn
