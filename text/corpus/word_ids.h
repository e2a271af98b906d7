#pragma once

#include <span>

#include "../tokenizers/tokenizer.h"
#include "packed_values.h"

namespace tape::text {

/// Encoded words for token classification.
struct WordIds {
  std::vector<int64_t> ids;     ///< ids of the words joined by spaces
  std::vector<int64_t> words;   ///< ascending indices of the words that have a token
  std::vector<int64_t> places;  ///< position of the first token of each of these
};

inline void append_packed(std::string& to, const WordIds& value) {
  for (const std::vector<int64_t>* part : {&value.ids, &value.words, &value.places}) tape::append_packed(to, *part);
}
inline void take_packed(std::string_view& from, WordIds& value) {
  for (std::vector<int64_t>* part : {&value.ids, &value.words, &value.places}) tape::take_packed(from, *part);
}

/// Joins words with spaces.
std::string joined_words(std::span<const std::string> words);

/// Finds the words with a token in the encoding of joined_words(words), and the position of each word's first token,
/// the first one that came from a byte of the word or from the space before it. Truncated words, and those that the
/// tokenizer drops, have none.
WordIds align_words(std::span<const std::string> words, const Encoding& encoding);

}  // namespace tape::text
