#pragma once

#include <span>

#include "packed_values.h"
#include "tokenizer.h"

namespace tape::text {

/// Words as a model that labels tokens reads them.
struct WordIds {
  std::vector<int64_t> ids;     ///< of the words with a blank between two
  std::vector<int64_t> words;   ///< ascending: those that have a token
  std::vector<int64_t> places;  ///< of the first token of each of these
};

inline void append_packed(std::string& to, const WordIds& value) {
  for (const std::vector<int64_t>* part : {&value.ids, &value.words, &value.places}) tape::append_packed(to, *part);
}
inline void take_packed(std::string_view& from, WordIds& value) {
  for (std::vector<int64_t>* part : {&value.ids, &value.words, &value.places}) tape::take_packed(from, *part);
}

/// The text that words make: a blank between two.
std::string joined_words(std::span<const std::string> words);

/// Which of the words have a token in the encoding of joined_words(words), and where their first one stands: the first
/// token that came from a byte of the word. Words behind a cut have none, nor those that a tokenizer drops.
WordIds place_words(std::span<const std::string> words, const Encoding& encoding);

}  // namespace tape::text
