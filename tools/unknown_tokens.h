#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "text/tokenizer.h"

namespace tape::tools {

/// Counts what of the texts a model reads its tokenizer has no token for: the model sees <unk> in its place.
class UnknownTokens {
 public:
  /// The encoding of a text, or of a pair of texts.
  void add(const text::Tokenizer& tokenizer, const text::Encoding& encoding, const std::string& text,
           const std::string& second = "");

  /// `3 of 40 tokens are unknown to the model, which reads "<unk>" for them: "hello", "world"`; "" where all are known.
  std::string note() const;

 private:
  int64_t unknown_ = 0, all_ = 0;
  std::string stands_for_them_;
  std::set<std::string> some_;  // the first few
};

}  // namespace tape::tools
