#pragma once

#include <string>

#include "bpe_model.h"
#include "sentence_piece_check.h"

namespace tape::text {

/// The merges that `transformers` makes of the pieces of a SentencePiece model: each pair of pieces that together are a
/// piece, in the order of the pieces that they make, the shorter left part first. Error (format) `where: ...` for
/// pieces that are made of each other in so many ways that a small file would fill the memory.
Merges merges_of_pieces(const SentencePieceTable& model, const std::string& where);

}  // namespace tape::text
