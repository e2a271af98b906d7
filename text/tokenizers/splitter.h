#pragma once

#include "pattern.h"
#include "pre_tokenizer.h"

namespace tape::text {

/// What becomes of the matches that a text is split at.
enum class SplitBehavior {
  removed,               ///< they go
  isolated,              ///< each is a word of its own
  merged_with_previous,  ///< each ends the word before it
  merged_with_next,      ///< each begins the word behind it
  contiguous,            ///< neighbours are one word
};

/// Splits at the matches of a pattern; `invert`: at what stands between them.
PreTokenizerPtr split_pre_tokenizer(PatternPtr pattern, SplitBehavior behavior, bool invert);
/// Splits at punctuation: Unicode's P*, and every ASCII character that is no letter, digit, blank or control character.
PreTokenizerPtr punctuation_pre_tokenizer(SplitBehavior behavior);
/// Numbers (N*) are words of their own, one by one or as they stand together.
PreTokenizerPtr digits_pre_tokenizer(bool individual);
/// `\w+|[^\w\s]+`: white space parts words, and they part where letters, marks, digits and connectors begin or end.
PreTokenizerPtr word_pre_tokenizer();
/// Words of `length` code points, the last one shorter.
PreTokenizerPtr fixed_length_pre_tokenizer(int64_t length);

}  // namespace tape::text
