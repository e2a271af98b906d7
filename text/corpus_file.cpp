#include "text/corpus_file.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/score_text.h"

namespace tape::text {

bool is_empty(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!is_blank(point.value)) return false;
    text.remove_prefix(point.length);
  }
  return true;
}

void check_utf8(std::string_view line, const std::string& file, int64_t number, int64_t line_begin) {
  const std::optional<size_t> at = first_invalid_utf8(line);
  if (!at) return;
  if (number == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
    raise(ErrorKind::format, "{}: line 1, byte 1: the text is UTF-16, expected UTF-8", file);
  raise(ErrorKind::format, "{}: line {}, byte {}: 0x{:02X} is not valid UTF-8 (byte {} of the file)", file, number,
        *at + 1, static_cast<unsigned char>(line[*at]), static_cast<size_t>(line_begin) + *at + 1);
}

}  // namespace tape::text
