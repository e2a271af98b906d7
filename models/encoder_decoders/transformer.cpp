#include "models/encoder_decoders/transformer.h"

#include <cmath>

#include "base/check.h"

namespace tape::models {
namespace {

const TransformerConfig& checked(const TransformerConfig& c) {
  check_at_least_one("Transformer", {{"src_vocab", c.src_vocab},
                                     {"tgt_vocab", c.tgt_vocab},
                                     {"d_model", c.d_model},
                                     {"layers", c.layers},
                                     {"heads", c.heads},
                                     {"d_ff", c.d_ff},
                                     {"max_length", c.max_length},
                                     {"decoder_layers", c.decoder_layers.value_or(1)},
                                     {"decoder_heads", c.decoder_heads.value_or(1)},
                                     {"decoder_d_ff", c.decoder_d_ff.value_or(1)}});
  if (c.share_embeddings && c.src_vocab != c.tgt_vocab)
    raise(ErrorKind::config, "Transformer: share_embeddings needs equal vocabularies, got {} and {}", c.src_vocab,
          c.tgt_vocab);
  return c;
}

nn::TransformerLayerOptions encoder_options(const TransformerConfig& c) {
  return {.d_model = c.d_model,
          .heads = c.heads,
          .d_ff = c.d_ff,
          .dropout = c.dropout,
          .activation = c.activation,
          .norm = c.norm,
          .norm_eps = c.norm_eps,
          .attention_dropout = c.attention_dropout,
          .activation_dropout = c.activation_dropout};
}

nn::TransformerLayerOptions decoder_options(const TransformerConfig& c) {
  nn::TransformerLayerOptions options = encoder_options(c);
  options.heads = c.decoder_heads.value_or(c.heads);
  options.d_ff = c.decoder_d_ff.value_or(c.d_ff);
  return options;
}

EncoderDecoderOptions model_options(const TransformerConfig& c) {
  return {.src_vocab = c.src_vocab,
          .tgt_vocab = c.tgt_vocab,
          .layers = c.layers,
          .decoder_layers = c.decoder_layers.value_or(c.layers),
          .encoder = encoder_options(c),
          .decoder = decoder_options(c),
          .sinusoids = nn::PositionalEncodingOptions{c.positions, c.position_offset.value_or(0)},
          .positions_skip_padding = c.positions == nn::SinusoidLayout::fairseq,
          .max_length = c.max_length,
          // Tables are initialized with deviation C^-0.5, so scaling by sqrt(C) balances them with positions (3.4).
          .embedding_scale = c.scale_embedding ? std::sqrt(static_cast<double>(c.d_model)) : 1,
          .dropout = c.dropout,
          .share_embeddings = c.share_embeddings,
          .tie_output = c.tie_output,
          .output_bias = c.output_bias.value_or(!c.tie_output),
          // With a tied output, the padding row also gets a gradient from the output.
          .freeze_padding = c.freeze_padding.value_or(!c.tie_output),
          .padding_id = c.padding_id,
          .bos_id = c.bos_id,
          .eos_id = c.eos_id,
          .forced_bos = c.forced_bos};
}

}  // namespace

Transformer::Transformer(const TransformerConfig& c) : EncoderDecoder(model_options(checked(c))), config_(c) {}

}  // namespace tape::models
