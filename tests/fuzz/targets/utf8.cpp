#include "base/utf8.h"

#include "tests/fuzz/target.h"
#include "text/scores/score_text.h"
#include "text/tokenizers/steps/byte_level.h"

namespace tape::fuzz {

/// Arbitrary bytes split into characters, repaired, measured and converted to GPT-2's alphabet.
void fuzz_utf8(Bytes bytes) {
  const std::string text(text_of(bytes));
  std::string joined;
  for (const std::string_view point : code_points(text)) joined += point;
  expect(joined == text, "the characters do not join to the text");
  const std::string mended = replace_invalid_utf8(text);
  expect(valid_utf8(mended), "a repaired text is invalid");
  expect(!valid_utf8(text) || mended == text, "a valid text is changed");
  std::string written;
  for (const char32_t point : text::to_code_points(text)) append_utf8(point, written);
  expect(written == mended, "code points do not join to the repaired text");
  const int64_t width = display_width(text);
  expect(width >= 0 && width <= 2 * std::ssize(text), "a width of {} for {} bytes", width, text.size());
  for (const int64_t columns : {1, 7, 80}) {
    const std::string cut = clipped(text, columns);
    expect(valid_utf8(cut), "a clipped text is invalid");
    expect(display_width(cut) <= columns, "{} columns, {} available", display_width(cut), columns);
    for (const char c : cut) expect(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F, "a control character is shown");
  }
  expect(text::from_byte_characters(text::to_byte_characters(text)) == text, "bytes do not round-trip");
  text::lower_case(text::to_code_points(text));
}

}  // namespace tape::fuzz
