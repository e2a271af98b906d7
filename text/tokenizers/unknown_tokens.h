#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "byte_level_bpe.h"

namespace tape::text {

/// Counts tokens of the model's input that are unknown to its tokenizer: the model sees <unk> instead.
class UnknownTokens {
 public:
  /// Adds the encoding of a text, or of a pair of texts.
  void add(const Tokenizer& tokenizer, const Encoding& encoding, const std::string& text,
           const std::string& second = "");

  /// The first of the unknown pieces of text, clipped.
  const std::set<std::string>& examples() const { return examples_; }
  /// `3 of 40 tokens are unknown to the model and read as "<unk>": "hello", "world"`; "" if all are known.
  std::string note() const;

 private:
  int64_t unknown_ = 0, all_ = 0;
  std::string unknown_token_;
  std::set<std::string> examples_;
};

/// Counts the characters (code points) of texts that a byte-level tokenizer drops, as that of character_tokenizer()
/// does with unseen ones.
class DroppedCharacters {
 public:
  /// The tokenizer must outlive this object.
  explicit DroppedCharacters(const ByteLevelBpe& tokenizer);
  /// Adds a text, or a piece of one, of whole characters.
  void add(std::string_view text);
  /// The first of the dropped characters.
  const std::set<std::string>& examples() const { return examples_; }
  /// `3 of 40 characters are unknown to the tokenizer, which drops them: "é", "ö"`; "" for none.
  std::string note() const;

 private:
  const ByteLevelBpe& tokenizer_;
  const bool knows_all_;
  std::map<std::string, bool, std::less<>> lost_;  // whether each character seen so far is dropped
  int64_t dropped_characters_ = 0, all_ = 0;
  std::set<std::string> examples_;
};

}  // namespace tape::text
