#include "text/tokenizers/normalizer.h"

#include <algorithm>

#include "base/error.h"
#include "text/tokenizers/byte_level.h"
#include "text/tokenizers/unicode.h"

namespace tape::text {
namespace {

// How much longer a text may become, and how long in any case.
constexpr size_t kMostGrowth = 100, kAlwaysTaken = size_t{1} << 20;

/// The character that byte `at` of a text belongs to; broken bytes stand alone.
Range character_at(std::string_view text, uint32_t at) {
  for (uint32_t back = 0; back < 4 && back <= at; ++back) {
    const CodePoint point = decode_utf8(text.substr(at - back));
    if (point.valid) return back < point.length ? Range{at - back, at - back + point.length} : Range{at, at + 1};
  }
  return {at, at + 1};
}

class LowercaseNormalizer : public Normalizer {
 public:
  void apply(Normalized& text) const override {
    Rewriter rewrite(text);
    while (!rewrite.done()) {
      const CodePoint point = decode_utf8(rewrite.rest());
      rewrite.take(point.length);
      put_lower(point.value, rewrite);
    }
    rewrite.finish();
  }

  static void put_lower(char32_t point, Rewriter& rewrite) {
    if (point == 0x130) return rewrite.put("i\xCC\x87");  // the one letter whose lower case has two code points
    rewrite.put(to_lower(point));
  }
};

class BertNormalizer : public Normalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options) : options_(options) {}

  void apply(Normalized& text) const override {
    if (!ascii_in_place(text)) rewrite(text);
  }

 private:
  /// ASCII without control characters keeps every byte in its place.
  bool ascii_in_place(Normalized& text) const {
    for (const char c : text.text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 128 || (options_.clean_text && (kAsciiClasses[byte] & kControl))) return false;
    }
    for (char& c : text.text) {
      if (options_.lowercase && c >= 'A' && c <= 'Z') c = static_cast<char>(c + 0x20);
      if (options_.clean_text && c < ' ') c = ' ';
    }
    return true;
  }

  void rewrite(Normalized& text) const {
    Rewriter rewriter(text);
    while (!rewriter.done()) {
      const CodePoint point = decode_utf8(rewriter.rest());
      rewriter.take(point.length);
      const uint8_t classes = char_class(point.value);
      if (options_.clean_text && (classes & kControl)) continue;
      if (options_.clean_text && (classes & kWhiteSpace)) {
        rewriter.put(U' ');
      } else if (options_.handle_chinese_chars && (classes & kIdeograph)) {
        rewriter.put(U' ');
        put_character(point.value, rewriter);
        rewriter.put(U' ');
      } else {
        put_character(point.value, rewriter);
      }
    }
    rewriter.finish();
  }

  void put_character(char32_t point, Rewriter& rewriter) const {
    if (point < 0x80 || !options_.strip_accents) return put_cased(point, rewriter);
    const Decomposition parts = decompose(point);
    for (size_t i = 0; i < parts.size; ++i)
      if (!(char_class(parts.points[i]) & kAccent)) put_cased(parts.points[i], rewriter);
  }

  void put_cased(char32_t point, Rewriter& rewriter) const {
    if (options_.lowercase) return LowercaseNormalizer::put_lower(point, rewriter);
    rewriter.put(point);
  }

  BertNormalizerOptions options_;
};

class StripAccentsNormalizer : public Normalizer {
 public:
  void apply(Normalized& text) const override {
    Rewriter rewrite(text);
    while (!rewrite.done()) {
      const CodePoint point = decode_utf8(rewrite.rest());
      rewrite.take(point.length);
      if (!(char_class(point.value) & kMark)) rewrite.put(point.value);
    }
    rewrite.finish();
  }
};

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}

  void apply(Normalized& text) const override {
    if (!left_ && !right_) return;
    const std::string_view all = text.text;
    const Range inside = without_spaces(all, is_white_space);
    // Of white space alone nothing is left, whatever end is stripped.
    const size_t begin = inside.end == 0 ? all.size() : left_ ? inside.begin : 0;
    const size_t end = right_ || inside.end == 0 ? inside.end : all.size();
    if (begin == 0 && end == all.size()) return;
    Rewriter rewrite(text);
    for (size_t at = 0; !rewrite.done();) {
      const size_t length = decode_utf8(rewrite.rest()).length;
      const std::string_view character = rewrite.rest().substr(0, length);
      rewrite.take(length);
      if (at >= begin && at < end) rewrite.put(character);
      at += length;
    }
    rewrite.finish();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}

  void apply(Normalized& text) const override {
    if (text.text.empty()) return;
    Rewriter rewrite(text);
    const Range first = text.source_of(0, 1);
    rewrite.put(text_, first);
    while (!rewrite.done()) rewrite.copy();
    rewrite.finish();
  }

 private:
  std::string text_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(PatternPtr pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void apply(Normalized& text) const override {
    const std::vector<Range> found = pattern_->matches(text.text);
    if (found.empty()) return;
    const std::string_view all = text.text;
    Rewriter rewrite(text);
    uint32_t at = 0;
    const auto each = [&](uint32_t end, auto&& step) {
      while (at < end) {
        const uint32_t length = decode_utf8(all.substr(at)).length;
        step(length);
        at += length;
      }
    };
    for (const Range& match : found) {
      each(match.begin, [&](uint32_t) { rewrite.copy(); });
      // What is put comes, for tokenizers, from the last character replaced.
      each(match.end, [&](uint32_t length) { rewrite.take(length); });
      rewrite.put(content_);
    }
    while (!rewrite.done()) rewrite.copy();
    rewrite.finish();
  }

 private:
  PatternPtr pattern_;
  std::string content_;
};

/// What SentencePiece's NMT rules do beside NFKC.
class NmtNormalizer : public Normalizer {
 public:
  void apply(Normalized& text) const override {
    Rewriter rewrite(text);
    while (!rewrite.done()) {
      const CodePoint point = decode_utf8(rewrite.rest());
      if (is_blank(point.value)) {
        rewrite.take(point.length);
        rewrite.put(U' ');
      } else if (is_dropped(point.value)) {
        rewrite.take(point.length);
      } else {
        rewrite.copy();
      }
    }
    rewrite.finish();
  }

 private:
  static bool is_dropped(char32_t c) {
    return (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F;
  }
  static bool is_blank(char32_t c) {
    return c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || (c >= 0x200B && c <= 0x200F) || c == 0x2028 ||
           c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
  }
};

class ByteLevelNormalizer : public Normalizer {
 public:
  void apply(Normalized& text) const override {
    Rewriter rewrite(text);
    while (!rewrite.done()) {
      const size_t length = decode_utf8(rewrite.rest()).length;
      const std::string_view character = rewrite.rest().substr(0, length);
      rewrite.take(length);
      rewrite.put(to_byte_characters(character));
    }
    rewrite.finish();
  }
};

/// Steps may come from a file that is not trusted: a few dozen that double the text would fill any memory, and
/// thousands that each add to it take quadratic time.
class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {
    if (steps_.size() > kMostSteps)
      raise(ErrorKind::config, "normalizer: a sequence has {} steps, at most {} are taken", steps_.size(), kMostSteps);
  }
  void apply(Normalized& text) const override {
    const size_t before = text.text.size(), most = std::max(kMostGrowth * before, kAlwaysTaken);
    for (const NormalizerPtr& step : steps_) {
      step->apply(text);
      if (text.text.size() > most) raise(ErrorKind::config, "normalizer: makes more than {} bytes of {}", most, before);
    }
  }

 private:
  static constexpr size_t kMostSteps = 100;

  std::vector<NormalizerPtr> steps_;
};

}  // namespace

Range Normalized::source_of(uint32_t begin, uint32_t end) const {
  if (!in_place()) return {origin[begin].begin, origin[end - 1].end};
  return {character_at(text, begin).begin, character_at(text, end - 1).end};
}

void Rewriter::take(size_t bytes) {
  from_ = text_.source_of(static_cast<uint32_t>(at_), static_cast<uint32_t>(at_ + bytes));
  at_ += bytes;
}

void Rewriter::put(char32_t point) {
  const size_t before = out_.size();
  append_utf8(point, out_);
  origin_.resize(origin_.size() + out_.size() - before, from_);
}

void Rewriter::copy() {
  const size_t length = decode_utf8(rest()).length;
  const std::string_view character = rest().substr(0, length);
  take(length);
  put(character);
}

void Rewriter::put(std::string_view part) { put(part, from_); }

void Rewriter::put(std::string_view part, Range from) {
  // What is put may come from a file that is not trusted, and a text have it in place of each character.
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

NormalizerPtr bert_normalizer(const BertNormalizerOptions& options) {
  return std::make_unique<BertNormalizer>(options);
}
NormalizerPtr lowercase_normalizer() { return std::make_unique<LowercaseNormalizer>(); }
NormalizerPtr strip_accents_normalizer() { return std::make_unique<StripAccentsNormalizer>(); }
NormalizerPtr strip_normalizer(bool left, bool right) { return std::make_unique<StripNormalizer>(left, right); }
NormalizerPtr prepend_normalizer(std::string text) { return std::make_unique<PrependNormalizer>(std::move(text)); }
NormalizerPtr replace_normalizer(PatternPtr pattern, std::string content) {
  return std::make_unique<ReplaceNormalizer>(std::move(pattern), std::move(content));
}
NormalizerPtr nmt_normalizer() { return std::make_unique<NmtNormalizer>(); }
NormalizerPtr byte_level_normalizer() { return std::make_unique<ByteLevelNormalizer>(); }
NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> steps) {
  return std::make_unique<NormalizerSequence>(std::move(steps));
}

}  // namespace tape::text
