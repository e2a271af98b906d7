#include "models/t5.h"

#include <cmath>

#include "autograd/create.h"
#include "base/check.h"
#include "nn/gradcheck/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

T5Config small_t5() {
  return {.vocab = 5,
          .d_model = 4,
          .layers = 1,
          .decoder_layers = 1,
          .heads = 2,
          .head_width = 3,
          .d_ff = 5,
          .relative_bias = {.buckets = 4, .max_distance = 3}};
}

const nn::ModuleCheck t5_check("T5", "1.0: tied, its output scaled", [](const nn::Checker& check) {
  T5Config config = small_t5();
  config.activation = nn::ActivationKind::silu;  // without the corner of relu
  T5 model(config);
  return check(model, {tensor({{4, 2, 1}, {3, 1, 0}}, i64), tensor({{0, 4}, {0, 3}}, i64)});
});
const nn::ModuleCheck t5_gated_check("T5", "1.1: gated, untied", [](const nn::Checker& check) {
  T5Config config = small_t5();
  config.gated = true, config.activation = nn::ActivationKind::gelu_tanh;
  config.scale_output = config.tie_output = false;
  T5 model(config);
  return check(model, {tensor({{4, 2, 1}, {3, 1, 0}}, i64), tensor({{0, 4}, {0, 3}}, i64)});
});

const T5Config& checked(const T5Config& c) {
  check_at_least_one("T5", {{"vocab", c.vocab},
                            {"d_model", c.d_model},
                            {"layers", c.layers},
                            {"decoder_layers", c.decoder_layers},
                            {"heads", c.heads},
                            {"head_width", c.head_width},
                            {"d_ff", c.d_ff}});
  return c;
}

EncoderDecoderOptions parts_of(const T5Config& c) {
  const nn::TransformerLayerOptions layer{
      .d_model = c.d_model,
      .heads = c.heads,
      .d_ff = c.d_ff,
      .dropout = c.dropout,
      .activation = c.activation,
      .norm = nn::NormPlace::pre,
      .norm_eps = c.norm_eps,
      .norm_kind = nn::NormKind::rms_norm,
      .feed_forward = c.gated ? nn::FeedForwardKind::gated : nn::FeedForwardKind::plain,
      .bias = false,
      .head_width = c.head_width,
      .attention_scale = 1};
  return {.src_vocab = c.vocab,
          .tgt_vocab = c.vocab,
          .layers = c.layers,
          .decoder_layers = c.decoder_layers,
          .encoder = layer,
          .decoder = layer,
          .relative_bias = c.relative_bias,
          .dropout = c.dropout,
          .dropout_behind = true,
          .output_scale = c.scale_output ? 1 / std::sqrt(static_cast<double>(c.d_model)) : 1,
          .share_embeddings = true,
          .tie_output = c.tie_output,
          .output_bias = false,
          .freeze_padding = false,
          .padding_id = c.padding_id,
          .bos_id = c.bos_id,
          .eos_id = c.eos_id,
          .forced_bos = c.forced_bos};
}

/// The deviation that a matrix starts with, of so many columns. What unscaled scores would be divided by is in the
/// queries' (the authors' code, mesh_tensorflow/transformer).
double deviation(const std::string& name, const Shape& shape, const T5Config& c) {
  if (name.ends_with("embedding.weight") || name == "output.weight") return 1;
  const double fan_in = static_cast<double>(name.ends_with("relative_bias.weight") ? c.d_model : shape[1]);
  const bool query = name.ends_with(".query.weight");
  return 1 / std::sqrt(query ? fan_in * static_cast<double>(c.head_width) : fan_in);
}

}  // namespace

std::string_view to_string(T5Kind kind) { return kind == T5Kind::mt5 ? "mt5" : "t5"; }

T5::T5(const T5Config& c) : EncoderDecoder(parts_of(checked(c))), config_(c) {
  for (const NamedTensor& parameter : named_parameters())
    if (parameter.tensor.rank() == 2)
      nn::init::normal_(parameter.tensor, 0, deviation(parameter.name, parameter.tensor.shape(), c));
}

}  // namespace tape::models
