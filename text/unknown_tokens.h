#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "byte_level_bpe.h"

namespace tape::text {

/// Counts what of the texts a model reads its tokenizer has no token for: the model sees <unk> in its place.
class UnknownTokens {
 public:
  /// The encoding of a text, or of a pair of texts.
  void add(const Tokenizer& tokenizer, const Encoding& encoding, const std::string& text,
           const std::string& second = "");

  /// `3 of 40 tokens are unknown to the model, which reads "<unk>" for them: "hello", "world"`; "" where all are known.
  std::string note() const;

 private:
  int64_t unknown_ = 0, all_ = 0;
  std::string stands_for_them_;
  std::set<std::string> some_;  // the first few
};

/// Counts the characters (code points) of texts that a byte-level tokenizer loses, as character_tokenizer's does with
/// those that it has not seen.
class LostCharacters {
 public:
  /// The tokenizer must outlive it.
  explicit LostCharacters(const ByteLevelBpe& tokenizer);
  /// A text, or a piece of one, of whole characters.
  void add(std::string_view text);
  /// `3 of 40 characters are unknown to the tokenizer, which loses them: "é", "ö"`; "" for none.
  std::string note() const;

 private:
  const ByteLevelBpe& tokenizer_;
  const bool knows_all_;
  std::map<std::string, bool, std::less<>> lost_;  // of the characters looked at
  int64_t lost_characters_ = 0, all_ = 0;
  std::set<std::string> some_;  // the first few
};

}  // namespace tape::text
