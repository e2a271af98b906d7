#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../patterns/pattern.h"
#include "normalizer.h"

namespace tape::text {

/// Splits `words`, ordered ranges of the text, into the words that the model processes one by one; may rewrite the
/// text. `starts`: whether no added token precedes the text.
using PreTokenizer = std::function<void(Normalized& text, std::vector<Range>& words, bool starts)>;

/// BERT's: splits at white space; each punctuation character is a word.
PreTokenizer bert_pre_tokenizer();
/// Splits at white space, which is dropped.
PreTokenizer whitespace_pre_tokenizer();

struct ByteLevelOptions {
  bool add_prefix_space = false;  ///< prepend a space to a word that does not begin with one
  bool split = true;              ///< split into words by gpt2_word
  bool write = false;             ///< write each byte as its character in GPT-2's alphabet; else keep raw bytes
};

/// GPT-2's.
PreTokenizer byte_level_pre_tokenizer(const ByteLevelOptions& options);

enum class PrependScheme { always, first, never };

struct MetaspaceOptions {
  std::string replacement = "\xE2\x96\x81";  ///< U+2581
  PrependScheme prepend = PrependScheme::always;
  bool split = true;
};

/// SentencePiece's: spaces become `replacement`, which begins a word.
PreTokenizer metaspace_pre_tokenizer(const MetaspaceOptions& options);

/// What happens to the matches at which a text is split.
enum class SplitBehavior {
  removed,               ///< dropped
  isolated,              ///< each is a word
  merged_with_previous,  ///< each ends the word before it
  merged_with_next,      ///< each begins the word after it
  contiguous,            ///< adjacent matches form one word
};

/// Splits at the matches of a pattern, or with `invert` at the text between them.
PreTokenizer split_pre_tokenizer(Pattern pattern, SplitBehavior behavior, bool invert);
/// Splits at punctuation: Unicode's P*, and ASCII characters other than letters, digits, space and control characters.
PreTokenizer punctuation_pre_tokenizer(SplitBehavior behavior);
/// Splits off numbers (N*), each digit as a word or each run of digits.
PreTokenizer digits_pre_tokenizer(bool individual);
/// `\w+|[^\w\s]+`: splits at white space and between word characters (letters, marks, digits, connectors) and others.
PreTokenizer word_pre_tokenizer();
/// Splits into words of `length` code points; the last one may be shorter.
PreTokenizer fixed_length_pre_tokenizer(int64_t length);

PreTokenizer pre_tokenizer_sequence(std::vector<PreTokenizer> steps);

}  // namespace tape::text
