#pragma once

#include <cstdint>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "config.h"

namespace tape::text {

/// The files without tokenizer.json that a tokenizer class of `transformers` (without "Fast") reads as ours do.
enum class VocabularyFiles : std::uint8_t { none, word_piece, byte_level_bpe };
VocabularyFiles vocabulary_files_of(std::string_view tokenizer_class);

/// Replaces options of a tokenizer.json that tokenizer_config.json also has, for the classes in which `transformers`
/// takes them from there. Returns whether it changed one.
bool replace_options(nlohmann::json& file, std::string_view tokenizer_class, const TokenizerConfig& config);

}  // namespace tape::text
