#pragma once

#include "../../text/tokenizer.h"
#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

/// What targets begin with, which the decoder is given, and what they then say first.
struct TargetStart {
  int64_t bos = 0;
  std::optional<int64_t> forced_bos = {};
};

/// As the model's options say.
TargetStart target_start(const EncoderDecoder& model);

/// Of targets that `tokenizer`'s other side writes: the model's own, and where the tokenizer knows the language, its
/// token, said first (mBART-50, NLLB, M2M100) or in the model's bos_id's place (mBART).
TargetStart target_start(const EncoderDecoder& model, const text::Tokenizer& tokenizer);

}  // namespace tape::models
