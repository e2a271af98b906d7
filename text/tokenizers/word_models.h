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

struct UnigramModelOptions {
  int64_t unk_id = -1;  ///< -1: none, and what the vocabulary lacks is left out
  bool byte_fallback = false;
};

/// The most probable split (Kudo 2018); unknown neighbours become one token. `scores`: one log probability a token.
/// Error (format) for an unk_id outside the vocabulary. The vocabulary must outlive the model.
WordModelPtr unigram_model(const TokenTable& vocabulary, std::vector<double> scores, const UnigramModelOptions& options,
                           const std::string& where);

struct WordPieceModelOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_prefix = "##";
  int64_t max_word_characters = 100;
};

/// Greedy longest match from the left; a word with a rest that matches nothing is unknown as a whole (Schuster and
/// Nakajima 2012, as BERT does it). Error (format) `where: ...` when unk_token is not in the vocabulary. The vocabulary
/// must outlive the model.
WordModelPtr word_piece_model(const TokenTable& vocabulary, const WordPieceModelOptions& options,
                              const std::string& where);

}  // namespace tape::text
