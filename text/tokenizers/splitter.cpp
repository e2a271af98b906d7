#include "text/tokenizers/splitter.h"

#include <iterator>

#include "text/tokenizers/unicode.h"

namespace tape::text {
namespace {

/// Each character of some kind.
template <class Holds>
class CharacterPattern : public Pattern {
 public:
  explicit CharacterPattern(Holds holds) : holds_(std::move(holds)) {}

  std::vector<Range> matches(std::string_view text) const override {
    std::vector<Range> out;
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint point = decode_utf8(text.substr(at));
      if (holds_(point.value)) out.push_back({at, at + point.length});
      at += point.length;
    }
    return out;
  }

 private:
  Holds holds_;
};

template <class Holds>
PatternPtr character_pattern(Holds holds) {
  return std::make_unique<CharacterPattern<Holds>>(std::move(holds));
}

/// 0: white space, 1: a character of words, 2: others.
int word_kind(char32_t point) { return is_white_space(point) ? 0 : is_word_character(point) ? 1 : 2; }

/// The words of `\w+|[^\w\s]+`.
class WordsAndSigns : public Pattern {
 public:
  std::vector<Range> matches(std::string_view text) const override {
    std::vector<Range> out;
    int last = 0;
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint point = decode_utf8(text.substr(at));
      const int kind = word_kind(point.value);
      if (kind != 0 && kind == last)
        out.back().end += point.length;
      else if (kind != 0)
        out.push_back({at, at + point.length});
      last = kind;
      at += point.length;
    }
    return out;
  }
};

struct TextPart {
  Range range;
  bool match;
};

/// A text as its matches and what stands between them.
std::vector<TextPart> parts_between(const std::vector<Range>& matches, uint32_t size, bool invert) {
  std::vector<TextPart> out;
  uint32_t done = 0;
  for (const Range& match : matches) {
    if (done < match.begin) out.push_back({{done, match.begin}, invert});
    out.push_back({match, !invert});
    done = match.end;
  }
  if (done < size) out.push_back({{done, size}, invert});
  return out;
}

class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(PatternPtr pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}

  void apply(Normalized& text, std::vector<Range>& words, bool) const override {
    std::vector<Range> out;
    out.reserve(words.size());
    for (const Range& word : words) {
      const std::string_view inside = std::string_view(text.text).substr(word.begin, word.end - word.begin);
      const size_t before = out.size();
      split(parts_between(pattern_->matches(inside), word.end - word.begin, invert_), out);
      for (size_t i = before; i < out.size(); ++i) {
        out[i].begin += word.begin;
        out[i].end += word.begin;
      }
    }
    std::erase_if(out, [](const Range& word) { return word.begin == word.end; });
    words = std::move(out);
  }

 private:
  void split(const std::vector<TextPart>& parts, std::vector<Range>& out) const {
    const size_t before = out.size();
    const auto join = [&out, before](const Range& range, bool wanted) {
      if (wanted && out.size() > before)
        out.back().end = range.end;
      else
        out.push_back(range);
    };
    bool previous = false;  // the part before was a match
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& [range, match] = parts[i];
      switch (behavior_) {
        case SplitBehavior::removed:
          if (!match) out.push_back(range);
          break;
        case SplitBehavior::isolated:
          out.push_back(range);
          break;
        case SplitBehavior::contiguous:
          join(range, match == previous);
          break;
        case SplitBehavior::merged_with_previous:
          join(range, match && !previous);
          break;
        case SplitBehavior::merged_with_next:
          // Of neighbouring matches the last one belongs to what follows.
          join(range, !match && previous);
          break;
      }
      previous = match;
    }
  }

  PatternPtr pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

class FixedLengthPreTokenizer : public PreTokenizer {
 public:
  explicit FixedLengthPreTokenizer(int64_t length) : length_(length) {}

  void apply(Normalized& text, std::vector<Range>& words, bool) const override {
    std::vector<Range> out;
    for (const Range& word : words) {
      const std::string_view all = std::string_view(text.text).substr(0, word.end);
      int64_t count = length_;
      for (uint32_t at = word.begin; at < word.end;) {
        const uint32_t length = decode_utf8(all.substr(at)).length;
        if (count++ == length_) {
          out.push_back({at, at});
          count = 1;
        }
        at = out.back().end = at + length;
      }
    }
    words = std::move(out);
  }

 private:
  int64_t length_;
};

}  // namespace

PreTokenizerPtr split_pre_tokenizer(PatternPtr pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<SplitPreTokenizer>(std::move(pattern), behavior, invert);
}
PreTokenizerPtr punctuation_pre_tokenizer(SplitBehavior behavior) {
  const auto is_punctuation = [](char32_t point) { return (char_class(point) & kPunctuation) != 0; };
  return split_pre_tokenizer(character_pattern(is_punctuation), behavior, false);
}
PreTokenizerPtr digits_pre_tokenizer(bool individual) {
  return split_pre_tokenizer(character_pattern(is_numeric),
                             individual ? SplitBehavior::isolated : SplitBehavior::contiguous, false);
}
PreTokenizerPtr word_pre_tokenizer() {
  return split_pre_tokenizer(std::make_unique<WordsAndSigns>(), SplitBehavior::removed, true);
}
PreTokenizerPtr fixed_length_pre_tokenizer(int64_t length) { return std::make_unique<FixedLengthPreTokenizer>(length); }

}  // namespace tape::text
