#pragma once

#include <optional>
#include <string>

#include "../tokenizers/tokenizer.h"
#include "text_reader.h"

namespace tape::text {

/// A piece of a text, preceded by the end of the text before it.
struct OverlappingPiece {
  std::string text;
  uint32_t lead = 0;  ///< number of bytes before the piece itself
};

/// The pieces of a text, each preceded by up to kOverlap bytes of earlier text, so that their encodings can be joined.
class OverlappingPieces {
 public:
  static constexpr size_t kOverlap = 1024;

  /// `next` must return pieces of whole characters.
  explicit OverlappingPieces(NextPiece next) : next_(std::move(next)) {}
  /// Returns nullopt after the last piece.
  std::optional<OverlappingPiece> next();

 private:
  NextPiece next_;
  std::string before_;
};

/// Trims the encodings of two consecutive pieces, both made with their overlap and without special tokens, so that
/// their concatenation equals the encoding of the whole text.
///
/// The encoding of a piece is wrong at its ends: a prepended space, a cut word, dropped white space. Within the overlap
/// both agree, so they are cut in the middle of the longest run of tokens that both have at the same offsets. If there
/// is none (a word longer than the overlap), the first keeps all of its tokens and the second those of its own piece.
///
/// The sentencepiece library sums log probabilities in f32. Beyond some hundred thousand tokens, rounding changes some
/// unigram splits, and the ids of pieces are closer to those of single sentences than the ids of the whole text are.
void join(const OverlappingPiece& first, Encoding& of_first, const OverlappingPiece& second, Encoding& of_second);

}  // namespace tape::text
