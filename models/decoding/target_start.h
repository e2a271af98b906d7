#pragma once

#include "../../text/tokenizers/tokenizer.h"
#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

/// The decoder's start token, and the first token that a target is forced to generate.
struct TargetStart {
  int64_t bos = 0;                         ///< start token, the first input of the decoder
  std::optional<int64_t> forced_bos = {};  ///< first token of every target, if it is forced
};

/// The start given by the model's options.
TargetStart target_start(const EncoderDecoder& model);

/// The start of targets in the language of `tokenizer.target()`: the model's own, and if the tokenizer knows the
/// language, its token as forced_bos (mBART-50, NLLB, M2M100) or instead of the model's bos_id (mBART).
TargetStart target_start(const EncoderDecoder& model, const text::Tokenizer& tokenizer);

}  // namespace tape::models
