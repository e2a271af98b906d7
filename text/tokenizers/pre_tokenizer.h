#pragma once

#include <functional>
#include <string>
#include <vector>

#include "normalizer.h"
#include "pattern.h"

namespace tape::text {

/// Splits a text into the words that a model takes one by one: each of `words`, ranges of the text in order, further;
/// may rewrite the text. `starts`: no added token stands before the text.
using PreTokenizer = std::function<void(Normalized& text, std::vector<Range>& words, bool starts)>;

/// BERT's: white space parts words, each punctuation character is a word of its own.
PreTokenizer bert_pre_tokenizer();
/// White space parts words and is dropped.
PreTokenizer whitespace_pre_tokenizer();

struct ByteLevelOptions {
  bool add_prefix_space = false;  ///< a blank before a word that begins without one
  bool split = true;              ///< into words by gpt2_word
  bool write = false;  ///< each byte as its character of GPT-2's alphabet; else words keep the bytes they have
};

/// GPT-2's.
PreTokenizer byte_level_pre_tokenizer(const ByteLevelOptions& options);

enum class PrependScheme { always, first, never };

struct MetaspaceOptions {
  std::string replacement = "\xE2\x96\x81";  ///< U+2581
  PrependScheme prepend = PrependScheme::always;
  bool split = true;
};

/// SentencePiece's: blanks become `replacement`, which begins a word.
PreTokenizer metaspace_pre_tokenizer(const MetaspaceOptions& options);

/// What becomes of the matches that a text is split at.
enum class SplitBehavior {
  removed,               ///< they go
  isolated,              ///< each is a word of its own
  merged_with_previous,  ///< each ends the word before it
  merged_with_next,      ///< each begins the word behind it
  contiguous,            ///< neighbours are one word
};

/// Splits at the matches of a pattern; `invert`: at what stands between them.
PreTokenizer split_pre_tokenizer(Pattern pattern, SplitBehavior behavior, bool invert);
/// Splits at punctuation: Unicode's P*, and every ASCII character that is no letter, digit, blank or control character.
PreTokenizer punctuation_pre_tokenizer(SplitBehavior behavior);
/// Numbers (N*) are words of their own, one by one or as they stand together.
PreTokenizer digits_pre_tokenizer(bool individual);
/// `\w+|[^\w\s]+`: white space parts words, and they part where letters, marks, digits and connectors begin or end.
PreTokenizer word_pre_tokenizer();
/// Words of `length` code points, the last one shorter.
PreTokenizer fixed_length_pre_tokenizer(int64_t length);

PreTokenizer pre_tokenizer_sequence(std::vector<PreTokenizer> steps);

}  // namespace tape::text
