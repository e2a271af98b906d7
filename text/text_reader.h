#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "utf8_file.h"

namespace tape::text {

/// Gives a text piece by piece, each until the call after it; nothing behind the last one.
using NextPiece = std::function<std::optional<std::string_view>()>;

/// text(0), text(1), ... text(count - 1) as such pieces.
template <class Text>
NextPiece pieces_of(size_t count, Text text) {
  return [count, text, at = size_t{0}, piece = std::string()]() mutable -> std::optional<std::string_view> {
    if (at == count) return std::nullopt;
    piece = text(at++);
    return piece;
  };
}

/// Whether a byte of UTF-8 is the first of its character.
inline bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// A stretch of a text, in characters (code points): [begin, end).
struct CharacterRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

/// A file as one text that goes on and on, CRLF turned into LF, piece by piece: for texts larger than memory, which are
/// tokenized as they are read. What is taken away of it and its errors are Utf8File's.
///
/// A piece has about a megabyte and ends behind a line end that has no blank on either side, where the pre-tokenizers
/// of byte-level models cut in any case: their ids of the pieces are those of the whole. Where no such place is found
/// it ends in front of a blank between letters, else between two characters. For other tokenizers see
/// overlapping_pieces.h.
class TextReader {
 public:
  explicit TextReader(const std::string& file, CharacterRange range = {}) : file_(file), range_(range) {}

  const std::string& file() const { return file_.path(); }
  /// The next piece, until the call after it; nothing behind the last one. None is empty.
  std::optional<std::string_view> next();
  /// What is told of a file that was read to its end: see corpus.h.
  std::vector<std::string> notes() const;

 private:
  bool fill();

  Utf8File file_;
  const CharacterRange range_;
  std::string buffer_;
  size_t given_ = 0;        // of the buffer, by the last call
  int64_t characters_ = 0;  // read so far
  int64_t nuls_ = 0;
};

/// Characters of a file; its notes are appended. Error (config) for one without any.
int64_t count_characters(const std::string& file, std::vector<std::string>& notes);

/// How many of `all` lines, characters or documents of a file are learned from where a fraction of them, the last ones,
/// validates: floor(all (1 - valid_fraction)). Error (config) unless 0 < valid_fraction < 1 and both parts have one.
int64_t training_part(int64_t all, double valid_fraction, const std::string& file, const char* what);

}  // namespace tape::text
