#pragma once

#include <utility>

#include "model.h"

namespace tape::text {

using Merges = std::vector<std::pair<std::string, std::string>>;

struct BpeModelOptions {
  bool bytes = true;                    ///< words are bytes, tokens are written in GPT-2's alphabet
  std::string unk_token = {};           ///< "": what the vocabulary lacks is left out
  bool fuse_unk = false;                ///< unknown neighbours become one token
  bool byte_fallback = false;           ///< what the vocabulary lacks becomes its bytes' tokens, `<0x0A>`
  bool ignore_merges = false;           ///< a word of the vocabulary is one token, whatever the merges say
  std::string continuing_prefix = {};   ///< written before every character of a word but the first, not with `bytes`
  std::string end_of_word_suffix = {};  ///< and behind the last
};

/// Byte pair encoding (Sennrich, Haddow, Birch 2016): joins the pair of neighbours that stands first in `merges`, the
/// leftmost of equals, until none is left. Error (format) `where: ...` naming the merge for one of tokens that the
/// vocabulary lacks. The vocabulary must outlive the model.
WordModelPtr bpe_model(const TokenTable& vocabulary, const Merges& merges, const BpeModelOptions& options,
                       const std::string& where);

}  // namespace tape::text
