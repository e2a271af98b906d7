#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// One piece of a model, and what a sentencepiece model file calls its type.
struct SentencePieceEntry {
  enum Type : int { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  std::string name;
  double score = 0;
  int type = normal;
};

/// What `transformers` takes of a model file.
struct SentencePieceTable {
  std::vector<SentencePieceEntry> pieces;
  std::string character_map;  ///< its precompiled_charsmap; "" for none
  bool is_bpe = false;
};

/// Looks a sentencepiece model file through before the library does, and says what it holds: the lengths of its
/// protocol buffer, that each piece has a name of 1 to 10,000 bytes and a finite score, and that the character map's
/// trie stays inside. Error (format) `where: ...`.
SentencePieceTable read_sentence_piece(std::string_view bytes, const std::string& where);

}  // namespace tape::text
