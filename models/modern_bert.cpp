#include "models/modern_bert.h"

#include "autograd/create.h"
#include "models/encoder_sizes.h"
#include "nn/gradcheck/check.h"

namespace tape::models {
namespace {

const nn::ModuleCheck modern_bert_check("ModernBert", "a global and a local layer", [](const nn::Checker& check) {
  ModernBert model({.vocab = 6,
                    .d_model = 4,
                    .layers = 2,
                    .heads = 2,
                    .d_ff = 5,
                    .local_attention = 2,
                    .dropout = 0.2,
                    .attention_dropout = 0.2,
                    .padding_id = 5,
                    .init_std = 0.5});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 0}}, i64)});
});

constexpr int64_t kGlobalEvery = 3;

nn::ClassificationHeadOptions head_of(const ModernBertConfig& c) {
  return {.dropout = c.classifier_dropout,
          .activation = c.classifier_activation,
          .dense_bias = c.classifier_bias.value_or(false),
          .norm_eps = c.norm_eps,
          .norm_bias = c.norm_bias};
}

}  // namespace

bool ModernBertConfig::is_local(int64_t layer) const {
  return local_layers.empty() ? layer % kGlobalEvery != 0 : local_layers.at(static_cast<size_t>(layer));
}

EncoderModelOptions parts_of(const ModernBertConfig& c) {
  const EncoderSizes sizes = encoder_sizes("ModernBert", c);
  check_at_least_one("ModernBert", {{"local_attention", c.local_attention}});
  if (!c.local_layers.empty() && std::ssize(c.local_layers) != c.layers)
    raise(ErrorKind::config, "ModernBert: local_layers are {} of {} layers", c.local_layers.size(), c.layers);
  const nn::TransformerLayerOptions global{.d_model = c.d_model,
                                           .heads = c.heads,
                                           .d_ff = c.d_ff,
                                           .dropout = c.attention_dropout,
                                           .activation = c.activation,
                                           .norm = nn::NormPlace::pre,
                                           .norm_eps = c.norm_eps,
                                           .attention_dropout = c.attention_dropout,
                                           .activation_dropout = c.dropout,
                                           .feed_forward = nn::FeedForwardKind::gated,
                                           .bias = c.mlp_bias.value_or(false),
                                           .rotary = nn::RotaryOptions{.theta = c.global_theta},
                                           .attention_bias = c.attention_bias.value_or(false),
                                           .attention_output_bias = c.attention_bias.value_or(false),
                                           .norm_bias = c.norm_bias,
                                           .dropped = nn::DroppedOutputs::attention};
  EncoderModelOptions parts = encoder_parts("model", sizes, global);
  for (int64_t i = 0; i < c.layers; ++i) {
    nn::TransformerLayerOptions& layer = parts.layers[static_cast<size_t>(i)];
    layer.attention_norm = i != 0;
    if (!c.is_local(i)) continue;
    layer.window = nn::AttentionWindow::around(c.local_attention);
    layer.rotary = nn::RotaryOptions{.theta = c.local_theta};
  }
  parts.embeddings.max_length = 0;
  parts.embeddings.norm_bias = c.norm_bias;
  parts.embeddings.dropout = c.embedding_dropout.value_or(c.dropout);
  parts.masked_token = {.activation = c.classifier_activation,
                        .norm_eps = c.norm_eps,
                        .dense_bias = c.classifier_bias.value_or(false),
                        .norm_bias = c.norm_bias,
                        .decoder_bias = c.decoder_bias};
  parts.sequence = parts.token = parts.span = head_of(c);
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
