#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "../tokenizer.h"

namespace tape::text {

/// A regular expression of known tokenizers and an equivalent function.
struct WordPattern {
  std::string_view expression;
  std::vector<Range> (*find)(std::string_view text);
};

/// Those of GPT-2, of GPT-4 and Llama 3, of Qwen 2 and 3, and of SentencePiece models with runs of spaces.
std::span<const WordPattern> word_patterns();

/// Length in bytes of the first word of a non-empty text, by GPT-2's pattern
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
/// (the first alternative that matches). Invalid UTF-8 is neither letter, number nor space.
size_t gpt2_word(std::string_view text);

/// Same by GPT-4's pattern (cl100k), with at most `digits` digits per word
///   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}|
///   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
size_t gpt4_word(std::string_view text, int digits);

}  // namespace tape::text
