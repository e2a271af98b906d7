#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "../token_table.h"
#include "../tokenizer.h"
#include "trie.h"

namespace tape::text {

/// A token that is matched in the text before any other step, such as `[SEP]`.
struct AddedToken {
  std::string content;
  int64_t id = -1;
  bool special = false;      ///< omitted by decode
  bool single_word = false;  ///< matches only if not adjacent to a letter or digit
  bool lstrip = false;       ///< includes white space before it
  bool rstrip = false;       ///< includes white space after it
  bool normalized = false;   ///< matched in the normalized text
};

/// Finds added tokens in a text, leftmost longest.
class AddedTokens {
 public:
  void add(const AddedToken& token, std::string_view content);
  bool empty() const { return tokens_.empty(); }

  struct Part {
    Range range;
    int64_t id;  ///< -1 for text between tokens
  };
  /// Splits the whole text into non-empty parts in order. A token that begins with white space that the previous token
  /// includes (rstrip) overlaps it.
  void split(std::string_view text, std::vector<Part>& to) const;

 private:
  const AddedToken* match(std::string_view text, size_t at, size_t& end) const;

  std::vector<AddedToken> tokens_;
  Trie trie_;
  std::array<bool, 256> begins_{};
};

}  // namespace tape::text
