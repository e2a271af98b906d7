#pragma once

#include "decoder.h"
#include "json_entry.h"
#include "normalizer.h"
#include "pre_tokenizer.h"

namespace tape::text {

/// The steps that tokenizer.json describes; null for a JSON null. Error (format) naming the entry for a type or setting
/// that is not known.
NormalizerPtr json_normalizer(const JsonEntry& entry);
/// Sets `byte_level` where one of the steps makes the model work on bytes.
PreTokenizerPtr json_pre_tokenizer(const JsonEntry& entry, bool& byte_level);
DecoderPtr json_decoder(const JsonEntry& entry);

}  // namespace tape::text
