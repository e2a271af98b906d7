#include "models/encoder_decoders/encoder_decoder.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "base/check.h"
#include "nn/position/positions.h"

namespace tape::models {
namespace {

const EncoderDecoderOptions& checked(const EncoderDecoderOptions& o) {
  check_at_least_one("EncoderDecoder", {{"src_vocab", o.src_vocab},
                                        {"tgt_vocab", o.tgt_vocab},
                                        {"layers", o.layers},
                                        {"decoder_layers", o.decoder_layers},
                                        {"max_length", o.max_length.value_or(1)}});
  if (o.share_embeddings && o.src_vocab != o.tgt_vocab)
    raise(ErrorKind::config, "EncoderDecoder: share_embeddings needs equal vocabularies, got {} and {}", o.src_vocab,
          o.tgt_vocab);
  if (o.encoder.d_model != o.decoder.d_model)
    raise(ErrorKind::config, "EncoderDecoder: both stacks must have the same d_model, got {} and {}", o.encoder.d_model,
          o.decoder.d_model);
  if (o.max_length.has_value() != (o.sinusoids || o.learned_positions))
    raise(ErrorKind::config, "EncoderDecoder: max_length must be set if and only if there is a position table");
  if (o.positions_skip_padding && !o.sinusoids)
    raise(ErrorKind::config, "EncoderDecoder: positions_skip_padding needs sinusoids");
  return o;
}

/// Without a padding row if the id is outside the table.
nn::EmbeddingOptions padded(const EncoderDecoderOptions& o, int64_t vocab) {
  nn::EmbeddingOptions options;
  if (o.freeze_padding && o.padding_id >= 0 && o.padding_id < vocab) options.padding_index = o.padding_id;
  return options;
}

std::unique_ptr<nn::Child<nn::LearnedPositionalEncoding>> learned(nn::Module* owner, const char* name,
                                                                  const EncoderDecoderOptions& o) {
  if (!o.learned_positions) return nullptr;
  return std::make_unique<nn::Child<nn::LearnedPositionalEncoding>>(owner, name, o.encoder.d_model, *o.max_length,
                                                                    *o.learned_positions);
}

std::unique_ptr<nn::Child<nn::LayerNorm>> embedding_norm(nn::Module* owner, const char* name,
                                                         const EncoderDecoderOptions& o) {
  if (!o.embedding_norm_eps) return nullptr;
  return std::make_unique<nn::Child<nn::LayerNorm>>(owner, name, o.encoder.d_model,
                                                    nn::LayerNormOptions{*o.embedding_norm_eps});
}

}  // namespace

EncoderDecoder::EncoderDecoder(const EncoderDecoderOptions& o)
    : src_embedding(this, "src_embedding", checked(o).src_vocab, o.encoder.d_model, padded(o, o.src_vocab)),
      tgt_embedding(this, "tgt_embedding", o.tgt_vocab, o.decoder.d_model, padded(o, o.tgt_vocab)),
      positions(o.sinusoids ? std::make_unique<nn::Child<nn::PositionalEncoding>>(this, "positions", o.encoder.d_model,
                                                                                  *o.max_length, *o.sinusoids)
                            : nullptr),
      src_positions(learned(this, "src_positions", o)),
      tgt_positions(learned(this, "tgt_positions", o)),
      src_norm(embedding_norm(this, "src_norm", o)),
      tgt_norm(embedding_norm(this, "tgt_norm", o)),
      dropout(this, "dropout", o.dropout),
      encoder(this, "encoder", o.layers, o.encoder),
      decoder(this, "decoder", o.decoder_layers, o.decoder),
      output(this, "output", o.decoder.d_model, o.tgt_vocab, {.bias = o.output_bias}),
      options_(o) {
  if (o.share_embeddings) src_embedding->weight.tie(tgt_embedding->weight);
  if (o.tie_output) output->weight.tie(tgt_embedding->weight);
}

Tensor EncoderDecoder::read(Side side, const Tensor& ids, int64_t first, bool padded) {
  if (ids.rank() != 2) raise(ErrorKind::shape, "{}: ids must be [B, T], got {}", type_name(), to_string(ids.shape()));
  const bool source = side == Side::source;
  Tensor x = (source ? src_embedding : tgt_embedding)(ids);
  if (options_.embedding_scale != 1) x = x * options_.embedding_scale;
  if (positions) x = with_sinusoids(x, ids, first, padded);
  if (auto& learned = source ? src_positions : tgt_positions) x = (*learned)(x, first);
  if (auto& norm = source ? src_norm : tgt_norm) x = (*norm)(x);
  return dropout(x);
}

Tensor EncoderDecoder::with_sinusoids(const Tensor& x, const Tensor& ids, int64_t first, bool padded) {
  const bool skips = options_.positions_skip_padding && padded && (reading_waits(ids.device()) || any_is_padding(ids));
  if (!skips) return (*positions)(x, first);
  return positions->call(&nn::PositionalEncoding::at, x,
                         nn::positions_skipping_padding(ids, options_.padding_id, first, -1));
}

Tensor EncoderDecoder::given(const Tensor& hidden) { return options_.output_dropout ? dropout(hidden) : hidden; }

Tensor EncoderDecoder::ready(const Tensor& hidden) {
  const Tensor h = given(hidden);
  return options_.output_scale != 1 ? h * options_.output_scale : h;
}

Tensor EncoderDecoder::logits(const Tensor& hidden) { return output(ready(hidden)); }

Tensor EncoderDecoder::encode(const Tensor& src, const Mask& src_mask) {
  return given(encoder(read(Side::source, src, 0), src_mask));
}

Tensor EncoderDecoder::encode(const Tensor& src) { return encode(src, source_mask(src, options_.padding_id)); }

Tensor EncoderDecoder::decoded(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask) {
  return decoder(read(Side::target, tgt, 0), memory, tgt_mask, src_mask);
}

Tensor EncoderDecoder::decode(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask) {
  return logits(decoded(tgt, memory, src_mask, tgt_mask));
}

Tensor EncoderDecoder::decode(const Tensor& tgt, const Tensor& memory, const Tensor& src) {
  return decode(tgt, memory, source_mask(src, options_.padding_id), target_mask(tgt, options_.padding_id));
}

Tensor EncoderDecoder::decoded_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, bool padded) {
  const int64_t past = cache.empty() ? 0 : cache.front().self.length();
  const Tensor x = read(Side::target, next, past, padded);
  return decoder.call(&nn::Decoder::forward_cached, x, cache, source_mask(src, options_.padding_id));
}

Tensor EncoderDecoder::decode_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, bool padded) {
  return logits(decoded_cached(next, cache, src, padded));
}

bool EncoderDecoder::any_is_padding(const Tensor& tokens) const {
  return any(eq(tokens, options_.padding_id)).item<bool>();
}

Tensor EncoderDecoder::without_padding(const Tensor& logits) const {
  return masked_fill(logits, eq(arange(logits.size(-1), {i64, logits.device()}), options_.padding_id), -INFINITY);
}

TopK EncoderDecoder::likeliest(const Tensor& logits, int64_t words) const {
  const TopK best = max_with_index(logits, words);
  return any_is_padding(best.indices) ? max_with_index(without_padding(logits), words) : best;
}

// Hooks of the output layer may change the logits, so all of them must be computed.

TopK EncoderDecoder::likeliest_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, int64_t words) {
  const Tensor hidden = ready(select(decoded_cached(next, cache, src), 1, -1));
  if (output->has_hooks()) return likeliest(output(hidden), words);
  const TopK best = output.call(&nn::Linear::max_with_index, hidden, words);
  return any_is_padding(best.indices) ? likeliest(output(hidden), words) : best;
}

Tensor EncoderDecoder::top_k_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src, int64_t k,
                                    int64_t words) {
  const Tensor hidden = ready(select(decoded_cached(next, cache, src), 1, -1));
  const int64_t with_padding = std::min(k, options_.tgt_vocab) + 1;
  const Tensor best = output->has_hooks() ? keep_top_k(output(hidden), with_padding, words)
                                          : output.call(&nn::Linear::top_k, hidden, with_padding, words);
  return keep_top_k(without_padding(best), k);
}

void EncoderDecoder::check_pair(const Tensor& src, const Tensor& tgt) const {
  if (src.rank() != 2 || tgt.rank() != 2 || src.size(0) != tgt.size(0))
    raise(ErrorKind::shape, "{}: src must be [B, S] and tgt [B, T], got {} and {}", type_name(), to_string(src.shape()),
          to_string(tgt.shape()));
}

Tensor EncoderDecoder::forward(const Tensor& src, const Tensor& tgt, const Mask& src_mask, const Mask& tgt_mask) {
  check_pair(src, tgt);
  return decode(tgt, encode(src, src_mask), src_mask, tgt_mask);
}

Tensor EncoderDecoder::forward(const Tensor& src, const Tensor& tgt) {
  return forward(src, tgt, source_mask(src, options_.padding_id), target_mask(tgt, options_.padding_id));
}

Tensor EncoderDecoder::loss(const Tensor& src, const Tensor& tgt, const Tensor& target,
                            const CrossEntropyOptions& options) {
  check_pair(src, tgt);
  const Mask hidden_source = source_mask(src, options_.padding_id);
  const Tensor hidden = decoded(tgt, encode(src, hidden_source), hidden_source, target_mask(tgt, options_.padding_id));
  return output.call(&nn::Linear::cross_entropy, ready(hidden), target, options);
}

std::string EncoderDecoder::settings() const {
  return fmt::format("{} -> {} words, width {}", options_.src_vocab, options_.tgt_vocab, options_.encoder.d_model);
}

}  // namespace tape::models
