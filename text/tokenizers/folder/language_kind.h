#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.h"

namespace tape::text {

/// Splits a line at spaces.
std::vector<std::string> words_of(std::string_view line);

/// Source language of a multilingual tokenizer and language of its target(); "" for the folder's settings.
struct Languages {
  std::string source = {}, target = {};
};

/// How a `transformers` tokenizer class for fairseq models handles languages.
struct LanguageKind {
  std::string_view tokenizer_class;
  std::string_view languages;  ///< language tokens appended to the pieces
  std::string_view source;     ///< default language; "" for a class without languages
  bool marked = false;         ///< languages are written as __en__
  bool own_ids = false;        ///< ids come from vocab.json
  bool masked = true;          ///< the class has a <mask> token
  bool language_after_text = false;
  bool legacy_language_after_text = false;  ///< the language follows the text with legacy_behaviour
  bool target_begins_with_language =
      false;  ///< a target begins with its language, so that the model does not generate it

  std::string token(std::string_view code) const;
  /// Language tokens of the class.
  std::vector<std::string> language_tokens(const TokenizerConfig& config) const;
  /// The language of a text: from the configuration, else `source`.
  std::string source_of(const TokenizerConfig& config) const;
  /// The id of a language. Throws Error (format) `where: ...` with the list of languages if the table lacks it.
  int64_t required_language(const std::string& language, const TokenizerConfig& config, const TokenTable& table,
                            const std::string& where) const;
};

/// Overrides the configured languages with the requested ones, which are then also saved.
void choose(TokenizerConfig& config, const Languages& wanted);

/// The entry for a tokenizer_class, with or without "Fast"; null for others.
const LanguageKind* language_kind_of(std::string_view tokenizer_class);

}  // namespace tape::text
