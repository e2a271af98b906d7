#pragma once

#include "../../base/check.h"
#include "encoder_model.h"

// What the configurations of BERT's kin have in common, under one name in all of them.
namespace tape::models {

/// Its sizes. Error (config) in the name of `owner` for one below 1.
template <class Config>
EncoderSizes encoder_sizes(const char* owner, const Config& c) {
  check_at_least_one(owner, {{"vocab", c.vocab},
                             {"d_model", c.d_model},
                             {"layers", c.layers},
                             {"heads", c.heads},
                             {"d_ff", c.d_ff},
                             {"max_length", c.max_length}});
  EncoderSizes sizes{.vocab = c.vocab, .max_length = c.max_length, .padding_id = c.padding_id, .layers = c.layers};
  if constexpr (requires { c.segments; }) sizes.segments = c.segments;
  return sizes;
}

/// A layer as BERT's: norms behind, no dropout inside the feed-forward block.
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

/// The parts that RoBERTa and MPNet share: positions that skip padding, and heads with a dense layer of their own.
/// Error (config) as encoder_sizes(), and for a padding id outside the vocabulary, whose position they would skip.
template <class Config>
EncoderModelOptions roberta_parts(const char* owner, const std::string& family, const Config& c) {
  const EncoderSizes sizes = encoder_sizes(owner, c);
  if (c.padding_id < 0 || c.padding_id >= c.vocab)
    raise(ErrorKind::config, "{}: padding_id {} is outside [0, {})", owner, c.padding_id, c.vocab);
  EncoderModelOptions parts = encoder_parts(family, sizes, post_norm_layer(c, c.norm_eps));
  parts.embeddings.positions_skip_padding = true;
  parts.pooler = c.pooler;
  parts.masked_token.activation = nn::ActivationKind::gelu;  // whatever the layers have
  parts.sequence = {.dropout = c.dropout, .activation = nn::ActivationKind::tanh, .input_dropout = c.dropout};
  parts.init_std = c.init_std;
  return parts;
}

}  // namespace tape::models
