#include "text/corpus_file.h"

#include "base/error.h"
#include "base/utf8.h"
#include "text/score_text.h"
#include "text/tokenizers/unicode.h"

namespace tape::text {

std::string grouped(int64_t n) {
  std::string digits = fmt::format("{}", n);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0 && digits[i - 1] != '-') out += ',';
    out += digits[i];
  }
  return out;
}

std::string counted(int64_t n, std::string_view what) {
  return fmt::format("{} {}{}", grouped(n), what, n == 1 ? "" : "s");
}

bool is_empty(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!is_blank(point.value)) return false;
    text.remove_prefix(point.length);
  }
  return true;
}

void check_utf8(std::string_view line, const std::string& file, int64_t number, int64_t line_begin) {
  if (valid_utf8(line)) return;
  if (number == 1 && (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")))
    raise(ErrorKind::format, "{}: line 1, byte 1: the text is UTF-16, expected UTF-8", file);
  size_t at = 0;
  for (CodePoint point = decode_utf8(line); point.valid; point = decode_utf8(line.substr(at))) at += point.length;
  raise(ErrorKind::format, "{}: line {}, byte {}: 0x{:02X} is not valid UTF-8 (byte {} of the file)", file, number,
        at + 1, static_cast<unsigned char>(line[at]), static_cast<size_t>(line_begin) + at + 1);
}

}  // namespace tape::text
