#pragma once

#include <optional>
#include <string_view>

#include "text/tokenizers/tokenizer.h"
#include "text/tokenizers/unknown_tokens.h"

namespace tape::tools {

/// Counts the characters of texts that the tokenizer drops.
class DroppedText {
 public:
  /// The tokenizer must outlive this object.
  explicit DroppedText(const text::Tokenizer& tokenizer);
  void add(std::string_view text);
  /// Prints the count to standard error; nothing if no character was dropped.
  void report() const;

 private:
  std::optional<text::DroppedCharacters> dropped_;  // only a byte-level tokenizer drops any
};

}  // namespace tape::tools
