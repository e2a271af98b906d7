#pragma once

#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

/// Options of greedy_decode().
struct GreedyOptions {
  int64_t bos = 1;           ///< token that starts a target
  int64_t eos = 2;           ///< token that ends a target
  int64_t max_length = 128;  ///< tokens of a translation, including its end
  bool use_cache = true;     ///< cache keys and values of earlier positions; does not change the tokens
  int64_t vocabulary = 0;    ///< only ids below this are chosen; 0: any row of the model (see GenerateOptions)
};

/// Repeatedly takes the likeliest next token until eos: src [B, S] (i64) -> the tokens of each row, without bos and
/// eos. The model should be in evaluation mode. Throws Error (config) naming the invalid option, and on a GPU (numeric)
/// for scores that are NaN or infinite.
std::vector<std::vector<int64_t>> greedy_decode(EncoderDecoder& model, const Tensor& src,
                                                const GreedyOptions& options = {});

}  // namespace tape::models
