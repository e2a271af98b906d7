#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tape::text {

struct SentencePieceFacts {
  int64_t pieces = 0;
  bool is_bpe = false;
};

/// Looks a sentencepiece model file through before the library does: the lengths of its protocol buffer, that each
/// piece has a name of 1 to 10,000 bytes and a finite score, and that the character map's trie stays inside. Error
/// (format) `where: ...`.
SentencePieceFacts check_sentence_piece(std::string_view bytes, const std::string& where);

}  // namespace tape::text
