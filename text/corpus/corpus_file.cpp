#include "text/corpus/corpus_file.h"

#include <array>

#include "base/error.h"
#include "base/number_text.h"
#include "base/utf8.h"
#include "text/scores/score_text.h"

namespace tape::text {

bool is_empty(std::string_view text) {
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!is_python_space(point.value)) return false;
    text.remove_prefix(point.length);
  }
  return true;
}

void check_not_utf16(std::string_view content, const std::string& file) {
  if (content.starts_with("\xFF\xFE") || content.starts_with("\xFE\xFF"))
    raise(ErrorKind::format, "{}: line 1, byte 1: the text is UTF-16, expected UTF-8", file);
  constexpr size_t kLooked = 4096, kFewest = 8;
  const std::string_view begin = content.substr(0, kLooked);
  std::array<size_t, 2> nuls{};  // at even and odd positions
  for (size_t i = 0; i < begin.size(); ++i) nuls[i % 2] += begin[i] == '\0';
  const size_t found = nuls[0] + nuls[1];
  if (found >= kFewest && 32 * found >= begin.size() && (nuls[0] == 0 || nuls[1] == 0))
    raise(ErrorKind::format, "{}: the text is UTF-16 (every other byte is NUL), expected UTF-8", file);
}

}  // namespace tape::text
