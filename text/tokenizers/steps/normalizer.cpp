#include "text/tokenizers/steps/normalizer.h"

#include <algorithm>

#include "base/error.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/steps/byte_level.h"

namespace tape::text {
namespace {

// Limits on how much a text may grow: a factor, and a size that is always allowed.
constexpr size_t kMostGrowth = 100, kAlwaysTaken = size_t{1} << 20;

/// The character that contains byte `at` of a text; each invalid byte is one.
Range character_at(std::string_view text, uint32_t at) {
  for (uint32_t back = 0; back < 4 && back <= at; ++back) {
    const CodePoint point = decode_utf8(text.substr(at - back));
    if (point.valid) return back < point.length ? Range{at - back, at - back + point.length} : Range{at, at + 1};
  }
  return {at, at + 1};
}

/// Rewrites a text: `each(character, to)` writes the replacement of a character.
template <class Each>
void rewrite_characters(Normalized& text, Each&& each) {
  Rewriter to(text);
  while (!to.done()) each(to.take(), to);
  to.finish();
}

void put_lower(char32_t point, Rewriter& to) {
  if (point == 0x130) return to.put("i\xCC\x87");  // the only letter whose lowercase has two code points
  to.put(to_lower(point));
}

/// For ASCII without control characters, offsets do not change.
bool normalize_ascii(Normalized& text, const BertNormalizerOptions& options) {
  for (const char c : text.text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 128 || (options.clean_text && (kAsciiClasses[byte] & kControl))) return false;
  }
  for (char& c : text.text) {
    if (options.lowercase && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 0x20);
    if (options.clean_text && c < ' ') c = ' ';
  }
  return true;
}

void put_for_bert(char32_t point, const BertNormalizerOptions& options, Rewriter& to) {
  const auto put_cased = [&](char32_t part) { options.lowercase ? put_lower(part, to) : to.put(part); };
  if (point < 0x80 || !options.strip_accents) return put_cased(point);
  const Decomposition parts = decompose(point);
  for (size_t i = 0; i < parts.size; ++i)
    if (!(char_class(parts.points[i]) & kAccent)) put_cased(parts.points[i]);
}

// What SentencePiece's NMT rules drop in addition to NFKC, and what they convert to a space.
bool is_dropped(char32_t c) {
  return (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
}
bool is_nmt_blank(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
         c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
}

}  // namespace

Range Normalized::source_of(uint32_t begin, uint32_t end) const {
  if (!origin.empty()) return {origin[begin].begin, origin[end - 1].end};
  return {character_at(text, begin).begin, character_at(text, end - 1).end};
}

Rewriter::Character Rewriter::take() {
  const CodePoint point = decode_utf8(rest());
  const std::string_view bytes = rest().substr(0, point.length);
  from_ = text_.source_of(static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + bytes.size()));
  at_ += bytes.size();
  return {point.value, bytes};
}

void Rewriter::put(char32_t point) {
  append_utf8(point, out_);
  origin_.resize(out_.size(), from_);
}

void Rewriter::put(std::string_view part, Range from) {
  // The replacement may come from an untrusted file and be inserted for each character of a text.
  const size_t most = std::max(kMostGrowth * text_.text.size(), kAlwaysTaken);
  if (out_.size() + part.size() > most)
    raise(ErrorKind::config, "normalizer: makes more than {} bytes of {}", most, text_.text.size());
  out_ += part;
  origin_.resize(out_.size(), from);
}

void Rewriter::finish() {
  text_.text = std::move(out_);
  text_.origin = std::move(origin_);
}

Normalizer bert_normalizer(const BertNormalizerOptions& options) {
  return [options](Normalized& text) {
    if (normalize_ascii(text, options)) return;
    rewrite_characters(text, [&](const Rewriter::Character& c, Rewriter& to) {
      const uint8_t classes = char_class(c.point);
      if (options.clean_text && (classes & kControl)) return;
      if (options.clean_text && (classes & kWhiteSpace)) return to.put(U' ');
      const bool apart = options.handle_chinese_chars && (classes & kIdeograph);
      if (apart) to.put(U' ');
      put_for_bert(c.point, options, to);
      if (apart) to.put(U' ');
    });
  };
}

Normalizer lowercase_normalizer() {
  return [](Normalized& text) {
    rewrite_characters(text, [](const Rewriter::Character& c, Rewriter& to) { put_lower(c.point, to); });
  };
}

Normalizer strip_accents_normalizer() {
  return [](Normalized& text) {
    rewrite_characters(text, [](const Rewriter::Character& c, Rewriter& to) {
      if (!(char_class(c.point) & kMark)) to.put(c.point);
    });
  };
}

Normalizer strip_normalizer(bool left, bool right) {
  return [left, right](Normalized& text) {
    if (!left && !right) return;
    const size_t size = text.text.size();
    const Range inside = without_spaces(text.text, is_white_space);
    // A text of only white space becomes empty, whichever end is stripped.
    const size_t begin = inside.end == 0 ? size : left ? inside.begin : 0;
    const size_t end = right || inside.end == 0 ? inside.end : size;
    if (begin == 0 && end == size) return;
    size_t at = 0;
    rewrite_characters(text, [&](const Rewriter::Character& c, Rewriter& to) {
      if (at >= begin && at < end) to.put(c.bytes);
      at += c.bytes.size();
    });
  };
}

Normalizer prepend_normalizer(std::string content) {
  return [content = std::move(content)](Normalized& text) {
    if (text.text.empty()) return;
    Rewriter to(text);
    to.put(content, text.source_of(0, 1));
    while (!to.done()) to.copy();
    to.finish();
  };
}

Normalizer replace_normalizer(Pattern pattern, std::string content) {
  return [pattern = std::move(pattern), content = std::move(content)](Normalized& text) {
    const std::vector<Range> found = pattern(text.text);
    if (found.empty()) return;
    Rewriter to(text);
    for (const Range& match : found) {
      while (to.at() < match.begin) to.copy();
      // As in tokenizers, the replacement takes the offsets of the last character replaced.
      while (to.at() < match.end) to.take();
      to.put(content);
    }
    while (!to.done()) to.copy();
    to.finish();
  };
}

Normalizer nmt_normalizer() {
  return [](Normalized& text) {
    rewrite_characters(text, [](const Rewriter::Character& c, Rewriter& to) {
      if (is_nmt_blank(c.point)) return to.put(U' ');
      if (!is_dropped(c.point)) to.put(c.bytes);
    });
  };
}

Normalizer byte_level_normalizer() {
  return [](Normalized& text) {
    rewrite_characters(text, [](const Rewriter::Character& c, Rewriter& to) { to.put(to_byte_characters(c.bytes)); });
  };
}

// Steps may come from an untrusted file: a few dozen that double the text would exhaust memory, and thousands that each
// add to it take quadratic time.
Normalizer normalizer_sequence(std::vector<Normalizer> steps) {
  constexpr size_t kMaxSteps = 100;
  if (steps.size() > kMaxSteps)
    raise(ErrorKind::config, "normalizer: a sequence has {} steps, at most {} are supported", steps.size(), kMaxSteps);
  return [steps = std::move(steps)](Normalized& text) {
    const size_t before = text.text.size(), most = std::max(kMostGrowth * before, kAlwaysTaken);
    for (const Normalizer& step : steps) {
      step(text);
      if (text.text.size() > most) raise(ErrorKind::config, "normalizer: makes more than {} bytes of {}", most, before);
    }
  };
}

}  // namespace tape::text
