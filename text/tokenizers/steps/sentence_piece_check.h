#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// A piece of a model, with the type from the model file.
struct SentencePieceEntry {
  enum Type : int { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  std::string name;
  double score = 0;
  int type = normal;
};

/// The parts of a model file that `transformers` uses.
struct SentencePieceTable {
  std::vector<SentencePieceEntry> pieces;
  std::string character_map;  ///< precompiled_charsmap; "" if there is none
  bool is_bpe = false;
};

/// Validates a sentencepiece model file before the library parses it, and returns its content. Checks the lengths in
/// the protocol buffer, that each piece has a name of 1 to 10,000 bytes and a finite score, and that the character
/// map's trie has no out-of-range offsets. Throws Error (format) `where: ...`.
SentencePieceTable read_sentence_piece(std::string_view bytes, const std::string& where);

}  // namespace tape::text
