#pragma once

#include "decoder.h"
#include "json_entry.h"
#include "normalizer.h"
#include "pre_tokenizer.h"

namespace tape::text {

/// The steps that tokenizer.json describes; null for a JSON null. Error (format) naming the entry for a type or setting
/// that is not known.
Normalizer json_normalizer(const JsonEntry& entry);
/// `bytes` says that the model may be given words as bytes, and then whether it is: where the last step is ByteLevel.
/// Else the bytes are written as characters.
PreTokenizer json_pre_tokenizer(const JsonEntry& entry, bool& bytes);
Decoder json_decoder(const JsonEntry& entry);

}  // namespace tape::text
