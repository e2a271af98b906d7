#pragma once

#include <span>

#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

/// State of a decoder while a batch is searched: the sources, the encoder's output for them, and the keys and values of
/// the tokens so far. Each source has `width` consecutive rows of tokens.
class DecoderRows {
 public:
  /// src [sources, S] (i64), initially one row per source. Without a cache, each step recomputes all tokens.
  DecoderRows(EncoderDecoder& model, const Tensor& src, bool use_cache);

  /// Logits [rows, V] of the next tokens, where rows is a multiple of the sources. `tokens` is [rows, 1], the last
  /// tokens, with a cache, and [rows, T], all tokens, without.
  /// `padded`: see EncoderDecoder::decode_cached().
  Tensor next_logits(const Tensor& tokens, bool padded = true);
  /// EncoderDecoder::likeliest() of the next tokens, and the k likeliest, excluding padding (top_k_cached()).
  TopK next_likeliest(const Tensor& tokens, int64_t vocab_limit);
  Tensor next_top_k(const Tensor& tokens, int64_t k, int64_t vocab_limit);
  /// Keeps only the sources at these indices.
  void keep_sources(const std::vector<int64_t>& places);
  /// Row i of the tokens so far becomes the previous row rows[i], regardless of dropped sources.
  void select(const std::vector<int64_t>& rows);

 private:
  EncoderDecoder& model_;
  bool cached_;
  Tensor src_, memory_;  // [sources, S], [sources, S, C]
  nn::DecoderCache cache_;
};

/// The sources of a batch whose single target is still being generated, token by token.
class RunningRows {
 public:
  /// src [B, S] (i64); every target begins with bos.
  RunningRows(EncoderDecoder& model, const Tensor& src, int64_t bos, bool use_cache);

  /// The source of each row.
  const std::vector<int64_t>& places() const { return places_; }
  /// Logits [rows, V] of the next tokens; `padded`: see EncoderDecoder::decode_cached().
  Tensor logits(bool padded = true) { return decoder_.next_logits(tokens_, padded); }
  /// The likeliest next tokens [rows, 1], or logits with all but the k likeliest at -inf; `vocab_limit`: see
  /// DecoderRows.
  TopK likeliest(int64_t vocab_limit = 0) { return decoder_.next_likeliest(tokens_, vocab_limit); }
  Tensor top_k(int64_t k, int64_t vocab_limit) { return decoder_.next_top_k(tokens_, k, vocab_limit); }
  /// Appends `next` [rows, 1]; rows of ended sources may have any token. Ended rows are dropped once they are a quarter
  /// of all.
  void follow(const Tensor& next, const std::vector<bool>& ended);
  /// Appends `next` [rows, 1].
  void append(const Tensor& next);
  /// Drops all rows except for those at these batch indices.
  void keep(const std::vector<int64_t>& rows);

 private:
  DecoderRows decoder_;
  bool cached_;
  Tensor tokens_;  // [rows, 1], or [rows, T] without a cache
  std::vector<int64_t> places_;
};

/// Throws Error, starting with `operation`, for an invalid source `row`: (shape) if it is longer than the model's
/// positions, (index) for an id that is outside the vocabulary or is the padding.
void check_source(const char* operation, const EncoderDecoderOptions& model, std::span<const int64_t> ids, size_t row);

}  // namespace tape::models
