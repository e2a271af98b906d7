#pragma once

#include "../../base/check.h"
#include "encoder_model.h"

// Common parts of BERT-like configurations, whose fields have the same names.
namespace tape::models {

/// A BERT layer: post-norm, no dropout inside the feed-forward block.
template <class Config>
nn::TransformerLayerOptions post_norm_layer(const Config& c, double norm_eps) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .d_ff = c.d_ff,
          .dropout = c.dropout,
          .activation = c.activation,
          .norm = nn::NormPlace::post,
          .norm_eps = norm_eps,
          .attention_dropout = c.attention_dropout,
          .activation_dropout = 0};
}

/// Identical layers; tokens, positions and segments followed by a norm; and BERT's padding, whose embedding is not
/// trained (an id outside the vocabulary means no padding). Throws Error (config), starting with `owner`, for a size
/// below 1.
template <class Config>
EncoderModelOptions encoder_model_options(const char* owner, const std::string& family, const Config& c,
                                          const nn::TransformerLayerOptions& layer) {
  check_at_least_one(owner, {{"vocab", c.vocab},
                             {"d_model", c.d_model},
                             {"layers", c.layers},
                             {"heads", c.heads},
                             {"d_ff", c.d_ff},
                             {"max_length", c.max_length}});
  EncoderModelOptions parts{
      .family = family,
      .vocab = c.vocab,
      .d_model = c.d_model,
      .embeddings = {.max_length = c.max_length, .norm_eps = layer.norm_eps, .dropout = layer.dropout},
      .layers = std::vector(static_cast<size_t>(c.layers), layer),
      .max_length = c.max_length,
      .padding_id = c.padding_id,
      .init_std = c.init_std,
      .masked_token = {.activation = layer.activation, .norm_eps = layer.norm_eps},
      .sequence = {.dropout = layer.dropout},
      .token = {.dropout = layer.dropout},
      .span = {.dropout = 0}};
  if (c.padding_id >= 0 && c.padding_id < c.vocab) parts.embeddings.padding_index = c.padding_id;
  if constexpr (requires { c.segments; }) parts.embeddings.segments = c.segments;
  if constexpr (requires { c.pooler; }) parts.pooler = c.pooler;
  return parts;
}

/// Parts shared by RoBERTa and MPNet: positions that skip padding, and heads with a dense layer of their own. Throws
/// the errors of encoder_model_options(), and Error (config) for a padding id outside the vocabulary.
template <class Config>
EncoderModelOptions roberta_model_options(const char* owner, const std::string& family, const Config& c) {
  EncoderModelOptions parts = encoder_model_options(owner, family, c, post_norm_layer(c, c.norm_eps));
  if (!parts.embeddings.padding_index)
    raise(ErrorKind::config, "{}: padding_id {} is outside [0, {})", owner, c.padding_id, c.vocab);
  parts.embeddings.positions_skip_padding = true;
  parts.masked_token.activation = nn::ActivationKind::gelu;  // regardless of the layers' activation
  parts.sequence = {.dropout = c.dropout, .activation = nn::ActivationKind::tanh, .input_dropout = c.dropout};
  return parts;
}

}  // namespace tape::models
