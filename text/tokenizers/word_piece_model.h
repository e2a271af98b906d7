#pragma once

#include "model.h"

namespace tape::text {

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
