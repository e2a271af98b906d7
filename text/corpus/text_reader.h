#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "utf8_file.h"

namespace tape::text {

/// Returns a text piece by piece, each valid until the next call; nullopt after the last.
using NextPiece = std::function<std::optional<std::string_view>()>;

/// The pieces text(0), text(1), ... text(count - 1).
template <class Text>
NextPiece pieces_of(size_t count, Text text) {
  return [count, text, at = size_t{0}, piece = std::string()]() mutable -> std::optional<std::string_view> {
    if (at == count) return std::nullopt;
    piece = text(at++);
    return piece;
  };
}

/// Whether a UTF-8 byte is the first of its character.
inline bool is_utf8_lead_byte(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// A range of a text in characters (code points): [begin, end).
struct CharacterRange {
  int64_t begin = 0, end = std::numeric_limits<int64_t>::max();
};

/// Reads a file as one continuous text, piece by piece, with CRLF converted to LF: for texts larger than memory, which
/// are tokenized as they are read. Cleanup and errors as for Utf8File.
///
/// A piece has about a megabyte. It ends after a line end without a space on either side, where the pre-tokenizers of
/// byte-level models always split, so that the ids of the pieces are those of the whole text. If there is no such
/// position it ends before a space between letters, or else between two characters. For other tokenizers see
/// overlapping_pieces.h.
class TextReader {
 public:
  explicit TextReader(const std::string& file, CharacterRange range = {}) : file_(file), range_(range) {}

  const std::string& file() const { return file_.path(); }
  /// Returns the next piece, never empty and valid until the next call; nullopt after the last.
  std::optional<std::string_view> next();
  /// Notes on a file that was read to its end, see corpus.h.
  std::vector<std::string> notes() const;

 private:
  bool fill();

  Utf8File file_;
  const CharacterRange range_;
  std::string buffer_;
  size_t given_ = 0;        // bytes of buffer_ returned by the last call
  int64_t characters_ = 0;  // read so far
  int64_t nuls_ = 0;
};

/// Counts the characters of a file and appends its notes. Throws Error (config) for an empty file.
int64_t count_characters(const std::string& file, std::vector<std::string>& notes);

/// Number of lines, characters or documents for training if the last `valid_fraction` of `all` is for validation:
/// floor(all (1 - valid_fraction)). Throws Error (config) unless 0 < valid_fraction < 1 and neither part is empty.
int64_t training_split_size(int64_t all, double valid_fraction, const std::string& file, const char* what);

}  // namespace tape::text
