#pragma once

#include <utility>

#include "model.h"

namespace tape::text {

using Merges = std::vector<std::pair<std::string, std::string>>;

struct BpeModelOptions {
  bool bytes = true;                    ///< words are raw bytes, tokens are in GPT-2's alphabet
  std::string unk_token = {};           ///< "": characters missing from the vocabulary are dropped
  bool fuse_unk = false;                ///< join adjacent unknown characters into one token
  bool byte_fallback = false;           ///< encode characters missing from the vocabulary as byte tokens, `<0x0A>`
  bool ignore_merges = false;           ///< a word in the vocabulary is one token, whatever the merges
  std::string continuing_prefix = {};   ///< prefix of every character of a word except the first, not with `bytes`
  std::string end_of_word_suffix = {};  ///< suffix of the last character
};

/// Byte pair encoding (Sennrich, Haddow, Birch 2016): repeatedly joins the adjacent pair that comes first in `merges`,
/// leftmost first. Throws Error (format) `where: ...` for a merge with a token that is not in the vocabulary. The
/// vocabulary must outlive the model.
WordModelPtr bpe_model(const TokenTable& vocabulary, const Merges& merges, const BpeModelOptions& options,
                       const std::string& where);

struct UnigramModelOptions {
  int64_t unk_id = -1;  ///< -1: none, characters missing from the vocabulary are dropped
  bool byte_fallback = false;
};

/// The most probable split (Kudo 2018); adjacent unknown characters become one token. `scores`: log probability of each
/// token. Throws Error (format) for an unk_id outside the vocabulary. The vocabulary must outlive the model.
WordModelPtr unigram_model(const TokenTable& vocabulary, std::vector<double> scores, const UnigramModelOptions& options,
                           const std::string& where);

struct WordPieceModelOptions {
  std::string unk_token = "[UNK]";
  std::string continuing_prefix = "##";
  int64_t max_word_characters = 100;
};

/// Greedy longest match from the left; a word with a remainder that does not match is unknown as a whole (Schuster and
/// Nakajima 2012, as in BERT). Throws Error (format) `where: ...` if unk_token is not in the vocabulary. The vocabulary
/// must outlive the model.
WordModelPtr word_piece_model(const TokenTable& vocabulary, const WordPieceModelOptions& options,
                              const std::string& where);

}  // namespace tape::text
