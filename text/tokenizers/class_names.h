#pragma once

#include <string>
#include <string_view>

#include "config.h"

namespace tape::text {

/// A tokenizer_class without "Fast" at its end.
std::string_view without_fast(std::string_view tokenizer_class);

/// The names of the special tokens that a tokenizer class of `transformers` has where no file names them, by
/// tokenizer_class with or without "Fast" at its end; none for PreTrainedTokenizerFast and classes that are not known
/// here.
TokenizerConfig class_names(std::string_view tokenizer_class);

/// The tokenizer_class of a folder: of tokenizer_config.json, of config.json, or the one of config.json's model_type;
/// "" where none of these tells.
std::string tokenizer_class_of(const std::string& folder);

}  // namespace tape::text
