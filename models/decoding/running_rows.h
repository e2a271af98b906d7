#pragma once

#include "decoder_rows.h"

namespace tape::models {

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

}  // namespace tape::models
