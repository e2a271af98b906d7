#pragma once

#include <string>
#include <string_view>

#include "config.h"

namespace tape::text {

/// Removes the suffix "Fast" from a tokenizer_class.
std::string_view strip_fast_suffix(std::string_view tokenizer_class);

/// Default names of the special tokens of a `transformers` tokenizer class, by tokenizer_class with or without "Fast".
/// Empty for PreTrainedTokenizerFast and unknown classes.
TokenizerConfig class_names(std::string_view tokenizer_class);

/// The tokenizer_class of a folder: from tokenizer_config.json, else from config.json, else the one for config.json's
/// model_type; "" if there is none.
std::string tokenizer_class_of(const std::string& folder);

}  // namespace tape::text
