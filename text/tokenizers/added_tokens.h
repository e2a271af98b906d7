#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer.h"
#include "token_table.h"
#include "trie.h"

namespace tape::text {

/// A token that is looked for in the text before anything else, such as `[SEP]`.
struct AddedToken {
  std::string content;
  int64_t id = -1;
  bool special = false;      ///< left out by decode
  bool single_word = false;  ///< only where no letter or digit touches it
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space behind it
  bool normalized = false;   ///< looked for in the normalized text
};

/// Finds added tokens in a text: the leftmost, of those the longest.
class AddedTokens {
 public:
  void add(const AddedToken& token, std::string_view content);
  bool empty() const { return tokens_.empty(); }

  struct Part {
    Range range;
    int64_t id;  ///< -1: text between tokens
  };
  /// The whole text in order, none of the parts empty. A token that begins with the white space that the one before it
  /// takes (rstrip) overlaps it.
  void split(std::string_view text, std::vector<Part>& to) const;

 private:
  const AddedToken* match(std::string_view text, size_t at, size_t& end) const;

  std::vector<AddedToken> tokens_;
  Trie trie_;
  std::array<bool, 256> begins_{};
};

}  // namespace tape::text
