#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config.h"

namespace tape::text {

/// The words of a line with a blank between two.
std::vector<std::string> words_of(std::string_view line);

/// Which language's texts a tokenizer of several encodes, and which its target() does; "": as its folder says.
struct Languages {
  std::string source = {}, target = {};
};

/// What a class of `transformers` for fairseq's models does with languages.
struct LanguageKind {
  std::string_view tokenizer_class;
  std::string_view languages;  ///< that stand behind the pieces
  std::string_view source;     ///< the language where none is given; "": there are none
  bool marked = false;         ///< languages are written __en__
  bool own_ids = false;        ///< vocab.json gives the ids
  bool masked = true;          ///< there is a <mask>
  bool language_behind = false;
  bool may_be_behind = false;    ///< with legacy_behaviour
  bool language_begins = false;  ///< a target begins with its language, which a model does not say first

  std::string token(std::string_view code) const;
  /// The tokens of the languages that the class knows.
  std::vector<std::string> language_tokens(const TokenizerConfig& config) const;
  /// The language that a text begins with, or ends with: what the folder says, else `source`.
  std::string source_of(const TokenizerConfig& config) const;
  /// The token of a language of a table. Error (format) `where: ...` that lists those there are.
  int64_t required_language(const std::string& language, const TokenizerConfig& config, const TokenTable& table,
                            const std::string& where) const;
};

/// Writes those that are asked for over those that the settings name, so that a folder that is saved names them too.
void choose(TokenizerConfig& config, const Languages& wanted);

/// That of a tokenizer_class, with or without "Fast" at its end; null for others.
const LanguageKind* language_kind_of(std::string_view tokenizer_class);

}  // namespace tape::text
