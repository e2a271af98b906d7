#pragma once

#include <optional>
#include <string>

#include "text_reader.h"
#include "tokenizer.h"

namespace tape::text {

/// A piece of a text, and the end of what stands in front of it.
struct OverlappingPiece {
  std::string text;
  uint32_t lead = 0;  ///< bytes of it that are in front of the piece
};

/// The pieces of a text, each with up to kOverlap bytes in front of it, so that their encodings can be joined.
class OverlappingPieces {
 public:
  static constexpr size_t kOverlap = 1024;

  /// Pieces of whole characters.
  explicit OverlappingPieces(NextPiece next) : next_(std::move(next)) {}
  /// Nothing behind the last one.
  std::optional<OverlappingPiece> next();

 private:
  NextPiece next_;
  std::string before_;
};

/// Cuts the encodings of a piece and of the next, both with what is in front of them and without special tokens, where
/// they meet: then one behind the other they are the ids of the text as a whole.
///
/// What a tokenizer says of a piece is wrong at its ends: a blank that it puts in front of each text, a word that was
/// cut, white space that it drops. Within the overlap both say the same, so they are cut in the middle of the longest
/// run of tokens that both have at the same places. Where there is none (a word longer than the overlap) the first
/// keeps all of its tokens, and the second those of its own piece.
///
/// The library sentencepiece sums log probabilities in f32: of more than some hundred thousand tokens at once its
/// unigram rounds some splits away, and the ids of pieces are nearer to those of its sentences than the whole's are.
void join(const OverlappingPiece& first, Encoding& of_first, const OverlappingPiece& second, Encoding& of_second);

}  // namespace tape::text
