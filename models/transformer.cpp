#include "models/transformer.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "base/check.h"
#include "nn/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

GradcheckReport check_small(const nn::Checker& check, nn::NormPlace norm, bool tied) {
  Transformer model({.src_vocab = 5,
                     .tgt_vocab = 5,
                     .d_model = 4,
                     .layers = 1,
                     .heads = 2,
                     .d_ff = 5,
                     .dropout = 0.1,
                     .activation = nn::ActivationKind::gelu,
                     .norm = norm,
                     .max_length = 4,
                     .share_embeddings = tied,
                     .tie_output = tied});
  // A padding row of its own is not trained, so no logits may stand at padding.
  const Tensor src = tensor({{1, 2, 4}, {3, 1, 0}}, i64);
  const Tensor tgt = tied ? tensor({{1, 4}, {2, 0}}, i64) : tensor({{1, 4}, {2, 3}}, i64);
  return check(model, {src, tgt}, "key.bias");
}

const nn::ModuleCheck post("Transformer", "post-LN",
                           [](const nn::Checker& check) { return check_small(check, nn::NormPlace::post, false); });
const nn::ModuleCheck pre("Transformer", "pre-LN, tied",
                          [](const nn::Checker& check) { return check_small(check, nn::NormPlace::pre, true); });

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

/// Without a padding row of its own where the table is the output's too: the sum of both gradients is the whole one.
nn::EmbeddingOptions padded(const TransformerConfig& c, int64_t vocab) {
  nn::EmbeddingOptions options;
  if (c.padding_id >= 0 && c.padding_id < vocab && c.freeze_padding.value_or(!c.tie_output))
    options.padding_index = c.padding_id;
  return options;
}

}  // namespace

Transformer::Transformer(const TransformerConfig& c)
    : src_embedding(this, "src_embedding", checked(c).src_vocab, c.d_model, padded(c, c.src_vocab)),
      tgt_embedding(this, "tgt_embedding", c.tgt_vocab, c.d_model, padded(c, c.tgt_vocab)),
      positions(this, "positions", c.d_model, c.max_length,
                nn::PositionalEncodingOptions{c.positions, c.position_offset.value_or(0)}),
      dropout(this, "dropout", c.dropout),
      encoder(this, "encoder", c.layers, encoder_options(c)),
      decoder(this, "decoder", c.decoder_layers.value_or(c.layers), decoder_options(c)),
      output(this, "output", c.d_model, c.tgt_vocab, nn::LinearOptions{.bias = c.output_bias.value_or(!c.tie_output)}),
      config_(c) {
  if (c.share_embeddings) src_embedding->weight = tgt_embedding->weight;
  if (c.tie_output) output->weight = tgt_embedding->weight;
}

/// Tables are started with deviation C^-0.5, so that times sqrt(C) they weigh as much as the positions (3.4).
Tensor Transformer::embed(nn::Child<nn::Embedding>& table, const Tensor& ids, int64_t first) {
  if (ids.rank() != 2) raise(ErrorKind::shape, "Transformer: ids must be [B, T], got {}", to_string(ids.shape()));
  Tensor x = table(ids);
  if (config_.scale_embedding) x = x * std::sqrt(static_cast<double>(config_.d_model));
  return dropout(positions(x, first));
}

Tensor Transformer::encode(const Tensor& src, const Mask& src_mask) {
  return encoder(embed(src_embedding, src, 0), src_mask);
}

Tensor Transformer::encode(const Tensor& src) { return encode(src, source_mask(src, config_.padding_id)); }

Tensor Transformer::decode(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask) {
  return output(decoder(embed(tgt_embedding, tgt, 0), memory, tgt_mask, src_mask));
}

Tensor Transformer::decode(const Tensor& tgt, const Tensor& memory, const Tensor& src) {
  return decode(tgt, memory, source_mask(src, config_.padding_id), target_mask(tgt, config_.padding_id));
}

Tensor Transformer::decode_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src) {
  const int64_t past = cache.empty() ? 0 : cache.front().self.length();
  const Tensor x = embed(tgt_embedding, next, past);
  return output(decoder.call(&nn::Decoder::forward_cached, x, cache, source_mask(src, config_.padding_id)));
}

Tensor Transformer::forward(const Tensor& src, const Tensor& tgt, const Mask& src_mask, const Mask& tgt_mask) {
  if (src.rank() != 2 || tgt.rank() != 2 || src.size(0) != tgt.size(0))
    raise(ErrorKind::shape, "Transformer: src must be [B, S] and tgt [B, T], got {} and {}", to_string(src.shape()),
          to_string(tgt.shape()));
  return decode(tgt, encode(src, src_mask), src_mask, tgt_mask);
}

Tensor Transformer::forward(const Tensor& src, const Tensor& tgt) {
  return forward(src, tgt, source_mask(src, config_.padding_id), target_mask(tgt, config_.padding_id));
}

std::string Transformer::settings() const {
  return fmt::format("{} -> {} words, width {}", config_.src_vocab, config_.tgt_vocab, config_.d_model);
}

}  // namespace tape::models
