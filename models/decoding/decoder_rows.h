#pragma once

#include <span>

#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

/// What a decoder goes on from while the translations of a batch are searched: the sources, the encoder's
/// output for them, and keys and values of the tokens so far. Each source has `width` rows of tokens, one behind the
/// other.
class DecoderRows {
 public:
  /// src [sources, S] (i64), one row of tokens each. Without a cache all tokens are read again in each step.
  DecoderRows(EncoderDecoder& model, const Tensor& src, bool use_cache);

  /// Logits [rows, V] of the tokens that come next, rows a multiple of the sources: tokens [rows, 1] are the last ones
  /// with a cache, [rows, T] all from the first without.
  Tensor next_logits(const Tensor& tokens);
  /// EncoderDecoder::likeliest() of these, and the k largest that are no padding (EncoderDecoder::top_k_cached()).
  TopK next_likeliest(const Tensor& tokens, int64_t words);
  Tensor next_top_k(const Tensor& tokens, int64_t k, int64_t words);
  /// Goes on with the sources at these places alone.
  void keep_sources(const std::vector<int64_t>& places);
  /// Row i of the tokens so far becomes what row rows[i] was, whatever sources left.
  void select(const std::vector<int64_t>& rows);

 private:
  EncoderDecoder& model_;
  bool cached_;
  Tensor src_, memory_;  // [sources, S], [sources, S, C]
  nn::DecoderCache cache_;
};

/// The sources of a batch that one target each is still said of, one token after the other.
class RunningRows {
 public:
  /// src [B, S] (i64); every target begins with bos.
  RunningRows(EncoderDecoder& model, const Tensor& src, int64_t bos, bool use_cache);

  /// Which source each row is of.
  const std::vector<int64_t>& places() const { return places_; }
  /// Logits [rows, V] of the tokens that come next.
  Tensor logits() { return decoder_.next_logits(tokens_); }
  /// The likeliest of these [rows, 1], or the k likeliest, -inf for others; of so many ids alone, 0: of all.
  TopK likeliest(int64_t words = 0) { return decoder_.next_likeliest(tokens_, words); }
  Tensor top_k(int64_t k, int64_t words) { return decoder_.next_top_k(tokens_, k, words); }
  /// Goes on with `next` [rows, 1], in which rows of sources that have ended have some token or other: they leave once
  /// they are a quarter of all.
  void follow(const Tensor& next, const std::vector<bool>& ended);

 private:
  DecoderRows decoder_;
  bool cached_;
  Tensor tokens_;  // [rows, 1], without a cache [rows, T]
  std::vector<int64_t> places_;
};

/// Error in the name of `operation` for source `row` that the model cannot read: (shape) for one longer than its
/// positions, (index) for an id that is not in its vocabulary or is its padding.
void check_source(const char* operation, const EncoderDecoderOptions& model, std::span<const int64_t> ids, size_t row);

}  // namespace tape::models
