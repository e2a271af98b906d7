#include "nn/encoder.h"

#include "tests/nn/torch_case.h"
#include "tests/support.h"

namespace tape::nn {
namespace {

/// The sizes of make_layers.py.
TransformerLayerOptions options_of(NormPlace norm, ActivationKind activation) {
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
  expect_as_torch(
      c,
      [&](const Named& in) {
        return Named{{"y", module(in.at("x"), both)}};
      },
      &module);
}

TEST(EncoderLayer, AgreesWithTorch) {
  for (const auto& [place, norm] : {std::pair{"post", NormPlace::post}, {"pre", NormPlace::pre}}) {
    for (const ActivationKind activation : {ActivationKind::relu, ActivationKind::gelu}) {
      EncoderLayer layer(options_of(norm, activation));
      expect_encoder_as_torch(fmt::format("encoder layer {} {}", place, to_string(activation)), layer);
    }
  }
}

TEST(Encoder, AgreesWithTorch) {
  Encoder post(2, options_of(NormPlace::post, ActivationKind::relu));
  Encoder pre(2, options_of(NormPlace::pre, ActivationKind::relu));
  expect_encoder_as_torch("encoder post relu", post, Mask::causal());
  expect_encoder_as_torch("encoder pre relu", pre, Mask::causal());
}

TEST(Encoder, HasALastNormWithNormsInFront) {
  EXPECT_EQ(Encoder(1, options_of(NormPlace::post, ActivationKind::relu)).norm, nullptr);
  EXPECT_NE(Encoder(1, options_of(NormPlace::pre, ActivationKind::relu)).norm, nullptr);
}

TEST(Encoder, OfNoLayersIsItsInput) {
  Encoder none(0, options_of(NormPlace::post, ActivationKind::relu));
  const Tensor x = randn({1, 2, 8});
  EXPECT_TRUE(tensors_equal(none(x), x));
}

TEST(Encoder, RefusesWhatDoesNotFit) {
  const TransformerLayerOptions fits = options_of(NormPlace::post, ActivationKind::relu);
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
  Encoder encoder(2, fits);
  EXPECT_TAPE_ERROR(encoder(zeros({2, 3, 9})), ErrorKind::shape,
                    "layers.0.self_attention.query: linear: inner sizes differ: x [2, 3, 9] x weight [8, 8] (9 vs 8)");
}

}  // namespace
}  // namespace tape::nn
