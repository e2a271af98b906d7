#pragma once

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

}  // namespace tape::models
