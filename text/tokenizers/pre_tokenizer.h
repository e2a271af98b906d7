#pragma once

#include <memory>
#include <string>
#include <vector>

#include "normalizer.h"

namespace tape::text {

/// Splits a text into the words that a model takes one by one.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Splits each of `words`, ranges of the text in order, further; may rewrite the text. `starts`: no added token stands
  /// before the text.
  virtual void apply(Normalized& text, std::vector<Range>& words, bool starts) const = 0;
};

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

/// BERT's: white space parts words, each punctuation character is a word of its own.
PreTokenizerPtr bert_pre_tokenizer();
/// White space parts words and is dropped.
PreTokenizerPtr whitespace_pre_tokenizer();

struct ByteLevelOptions {
  bool add_prefix_space = false;  ///< a blank before a word that begins without one
  bool split = true;              ///< into words by gpt2_word
  bool write = false;  ///< each byte as its character of GPT-2's alphabet; else words keep the bytes they have
};

/// GPT-2's.
PreTokenizerPtr byte_level_pre_tokenizer(const ByteLevelOptions& options);

enum class PrependScheme { always, first, never };

struct MetaspaceOptions {
  std::string replacement = "\xE2\x96\x81";  ///< U+2581
  PrependScheme prepend = PrependScheme::always;
  bool split = true;
};

/// SentencePiece's: blanks become `replacement`, which begins a word.
PreTokenizerPtr metaspace_pre_tokenizer(const MetaspaceOptions& options);
PreTokenizerPtr pre_tokenizer_sequence(std::vector<PreTokenizerPtr> steps);

}  // namespace tape::text
