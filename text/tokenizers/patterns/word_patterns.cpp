#include "text/tokenizers/patterns/word_patterns.h"

#include <algorithm>
#include <array>

#include "text/tokenizers/patterns/unicode.h"

namespace tape::text {
namespace {

/// A character's class (letter, number, white space or 0) and length in bytes.
uint8_t kind_at(std::string_view text, size_t at, uint32_t& length) {
  const CodePoint point = decode_utf8(text.substr(at));
  length = point.length;
  return static_cast<uint8_t>(char_class(point.value) & (kLetter | kNumber | kWhiteSpace));
}

/// End of the run of characters of one class from a position on.
size_t run_end(std::string_view text, size_t at, uint8_t kind) {
  uint32_t length = 0;
  while (at < text.size() && kind_at(text, at, length) == kind) at += length;
  return at;
}

/// White space by `\s+(?!\S)|\s+`: the whole run at the end of the text; elsewhere all but its last character, which
/// belongs to the next word.
size_t space_end(std::string_view text) {
  size_t end = 0, last = 0;
  for (uint32_t length = 0; end < text.size() && kind_at(text, end, length) == kWhiteSpace; end += length) last = end;
  return end == text.size() || last == 0 ? end : last;
}

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/// Length of `(?i:'s|'t|'re|'ve|'m|'ll|'d)` at the start of a text, 0 for no match. The long s counts as s.
size_t contraction(std::string_view text) {
  constexpr std::string_view kLongS = "'\xC5\xBF";
  if (text.starts_with(kLongS)) return kLongS.size();
  const auto lower = [text](size_t at) { return at < text.size() ? static_cast<char>(text[at] | 0x20) : '\0'; };
  const char first = lower(1), second = lower(2);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (((first == 'r' || first == 'v') && second == 'e') || (first == 'l' && second == 'l')) return 3;
  return 0;
}

/// Splits a text into consecutive words.
template <class Word>
std::vector<Range> all_words(std::string_view text, Word&& word) {
  std::vector<Range> out;
  out.reserve(text.size() / 4 + 1);
  for (size_t at = 0; at < text.size();) {
    const size_t end = at + word(text.substr(at));
    out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
  return out;
}

template <int digits>
std::vector<Range> gpt4_words(std::string_view text) {
  return all_words(text, [](std::string_view rest) { return gpt4_word(rest, digits); });
}

/// ` {2,}`
std::vector<Range> runs_of_blanks(std::string_view text) {
  std::vector<Range> out;
  for (size_t at = 0; (at = text.find("  ", at)) != std::string_view::npos;) {
    const size_t end = std::min(text.find_first_not_of(' ', at), text.size());
    out.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    at = end;
  }
  return out;
}

constexpr std::array<WordPattern, 4> kPatterns{{
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
     [](std::string_view text) { return all_words(text, gpt2_word); }},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     gpt4_words<3>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     gpt4_words<1>},
    {" {2,}", runs_of_blanks},
}};

}  // namespace

std::span<const WordPattern> word_patterns() { return kPatterns; }

size_t gpt2_word(std::string_view text) {
  if (text[0] == '\'') {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text.starts_with(ending)) return ending.size();
  }
  uint32_t length = 0;
  const uint8_t kind = kind_at(text, 0, length);
  if (kind != kWhiteSpace) return run_end(text, length, kind);
  if (text[0] == ' ' && text.size() > 1) {
    uint32_t next = 0;
    const uint8_t behind = kind_at(text, 1, next);
    if (behind != kWhiteSpace) return run_end(text, 1 + next, behind);
  }
  return space_end(text);
}

size_t gpt4_word(std::string_view text, int digits) {
  if (text[0] == '\'')
    if (const size_t end = contraction(text); end > 0) return end;
  uint32_t length = 0, next = 0;
  const uint8_t kind = kind_at(text, 0, length);
  if (kind == kLetter) return run_end(text, length, kLetter);
  if (kind == kNumber) {
    size_t end = length;
    for (int i = 1; i < digits && end < text.size() && kind_at(text, end, next) == kNumber; ++i) end += next;
    return end;
  }
  // One character that is neither letter, number nor line end may precede letters.
  const bool more = length < text.size();
  const uint8_t behind = more ? kind_at(text, length, next) : uint8_t{kWhiteSpace};
  if (more && behind == kLetter && !is_line_end(text[0])) return run_end(text, length + next, kLetter);
  // ` ?[^\s\p{L}\p{N}]+[\r\n]*`
  if (kind == 0 || (text[0] == ' ' && behind == 0)) {
    size_t end = run_end(text, length, 0);
    while (end < text.size() && is_line_end(text[end])) ++end;
    return end;
  }
  // `\s*[\r\n]+`: up to the last line end in the white space.
  const size_t end = run_end(text, 0, kWhiteSpace);
  const size_t last = text.substr(0, end).find_last_of("\r\n");
  return last != std::string_view::npos ? last + 1 : space_end(text);
}

}  // namespace tape::text
