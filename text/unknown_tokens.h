#pragma once

#include <cstdint>
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

/// What of the characters (code points) of a text a byte-level tokenizer loses, as character_tokenizer's does with
/// those that it has not seen: `3 of 40 characters are unknown to the tokenizer, which loses them: "é", "ö"`; "" for
/// none.
std::string lost_characters_note(const ByteLevelBpe& tokenizer, std::string_view text);

}  // namespace tape::text
