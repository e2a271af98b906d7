#include "text/tokenizers/steps/pre_tokenizer.h"

#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/patterns/word_patterns.h"
#include "text/tokenizers/steps/byte_level.h"

namespace tape::text {
namespace {

std::string_view part_of(const Normalized& text, const Range& range) {
  return std::string_view(text.text).substr(range.begin, range.end - range.begin);
}

/// Splits each of the words: `split(word, out)` appends its parts.
template <class Split>
void split_each_word(const Normalized& text, std::vector<Range>& words, Split&& split) {
  std::vector<Range> out;
  out.reserve(text.text.size() / 4 + 1);
  for (const Range& word : words) split(word, out);
  words = std::move(out);
}

/// Splits at character classes: characters of `drop` are removed, those of `isolate` become words.
PreTokenizer class_pre_tokenizer(uint8_t drop, uint8_t isolate) {
  return [drop, isolate](Normalized& text, std::vector<Range>& words, bool) {
    split_each_word(text, words, [&](Range word, std::vector<Range>& out) {
      uint32_t begin = word.begin;
      for (uint32_t at = word.begin; at < word.end;) {
        const CodePoint point = decode_utf8(part_of(text, {at, word.end}));
        const uint8_t classes = char_class(point.value);
        if (classes & (drop | isolate)) {
          if (begin < at) out.push_back({begin, at});
          begin = at + point.length;
          if (!(classes & drop)) out.push_back({at, begin});
        }
        at += point.length;
      }
      if (begin < word.end) out.push_back({begin, word.end});
    });
  };
}

/// Rewrites each word; `begin_word(first source bytes)` may write a prefix.
template <class Begin, class Each>
void rewrite_words(Normalized& text, std::vector<Range>& words, Begin&& begin_word, Each&& each) {
  Normalized out;
  std::vector<Range> placed;
  const auto put = [&out](std::string_view part, Range from) {
    out.text += part;
    out.origin.resize(out.text.size(), from);
  };
  for (const Range& word : words) {
    const auto begin = static_cast<uint32_t>(out.text.size());
    if (word.begin < word.end) {
      const std::string_view all = part_of(text, word);
      begin_word(all, text.source_of(word.begin, word.begin + decode_utf8(all).length), put);
      for (uint32_t at = word.begin; at < word.end;) {
        const uint32_t end = at + decode_utf8(part_of(text, {at, word.end})).length;
        each(part_of(text, {at, end}), text.source_of(at, end), put);
        at = end;
      }
    }
    placed.push_back({begin, static_cast<uint32_t>(out.text.size())});
  }
  text = std::move(out);
  words = std::move(placed);
}

/// Matches each character of a class.
template <class Holds>
Pattern character_pattern(Holds holds) {
  return [holds](std::string_view text) {
    std::vector<Range> out;
    for (uint32_t at = 0; at < text.size();) {
      const CodePoint point = decode_utf8(text.substr(at));
      if (holds(point.value)) out.push_back({at, at + point.length});
      at += point.length;
    }
    return out;
  };
}

/// 0: white space, 1: word character, 2: other.
int word_kind(char32_t point) { return is_white_space(point) ? 0 : is_word_character(point) ? 1 : 2; }

/// The words of `\w+|[^\w\s]+`.
std::vector<Range> words_and_signs(std::string_view text) {
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

struct TextPart {
  Range range;
  bool match;
};

/// The matches in a word and the text between them.
std::vector<TextPart> parts_between(const std::vector<Range>& matches, const Range& word, bool invert) {
  std::vector<TextPart> out;
  uint32_t done = word.begin;
  for (const Range& match : matches) {
    const Range range{word.begin + match.begin, word.begin + match.end};
    if (done < range.begin) out.push_back({{done, range.begin}, invert});
    out.push_back({range, !invert});
    done = range.end;
  }
  if (done < word.end) out.push_back({{done, word.end}, invert});
  return out;
}

void join_parts(const std::vector<TextPart>& parts, SplitBehavior behavior, std::vector<Range>& out) {
  const size_t before = out.size();
  const auto join = [&out, before](const Range& range, bool wanted) {
    if (wanted && out.size() > before)
      out.back().end = range.end;
    else
      out.push_back(range);
  };
  bool previous = false;  // whether the previous part was a match
  for (const auto& [range, match] : parts) {
    switch (behavior) {
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
        // Of adjacent matches, the last one is merged with the following text.
        join(range, !match && previous);
        break;
    }
    previous = match;
  }
}

}  // namespace

PreTokenizer bert_pre_tokenizer() { return class_pre_tokenizer(kWhiteSpace, kPunctuation); }
PreTokenizer whitespace_pre_tokenizer() { return class_pre_tokenizer(kWhiteSpace, 0); }

PreTokenizer byte_level_pre_tokenizer(const ByteLevelOptions& options) {
  return [options](Normalized& text, std::vector<Range>& words, bool) {
    if (options.add_prefix_space)
      rewrite_words(
          text, words,
          [](std::string_view word, Range from, auto&& put) {
            if (!word.starts_with(' ')) put(" ", from);
          },
          [](std::string_view character, Range from, auto&& put) { put(character, from); });
    if (options.split)
      split_each_word(text, words, [&](Range word, std::vector<Range>& out) {
        for (uint32_t at = word.begin; at < word.end; at = out.back().end)
          out.push_back({at, at + static_cast<uint32_t>(gpt2_word(part_of(text, {at, word.end})))});
      });
    if (options.write)
      rewrite_words(
          text, words, [](auto&&...) {},
          [](std::string_view character, Range from, auto&& put) { put(to_byte_characters(character), from); });
  };
}

PreTokenizer metaspace_pre_tokenizer(const MetaspaceOptions& options) {
  return [options](Normalized& text, std::vector<Range>& words, bool starts) {
    rewrite_words(
        text, words,
        [&](std::string_view word, Range from, auto&& put) {
          const bool wanted = options.prepend == PrependScheme::always ||
                              (options.prepend == PrependScheme::first && starts && from.begin == 0);
          if (wanted && !word.starts_with(' ') && !word.starts_with(options.replacement))
            put(options.replacement, from);
        },
        [&](std::string_view character, Range from, auto&& put) {
          put(character == " " ? std::string_view(options.replacement) : character, from);
        });
    if (!options.split) return;
    // A word begins at each replacement.
    split_each_word(text, words, [&](Range word, std::vector<Range>& out) {
      uint32_t begin = word.begin;
      for (uint32_t at = word.begin; at < word.end;) {
        const size_t found = part_of(text, {at, word.end}).find(options.replacement);
        if (found == std::string_view::npos) break;
        const uint32_t next = at + static_cast<uint32_t>(found);
        if (begin < next) out.push_back({begin, next});
        begin = next;
        at = next + static_cast<uint32_t>(options.replacement.size());
      }
      if (begin < word.end) out.push_back({begin, word.end});
    });
  };
}

PreTokenizer split_pre_tokenizer(Pattern pattern, SplitBehavior behavior, bool invert) {
  return [pattern = std::move(pattern), behavior, invert](Normalized& text, std::vector<Range>& words, bool) {
    split_each_word(text, words, [&](Range word, std::vector<Range>& out) {
      join_parts(parts_between(pattern(part_of(text, word)), word, invert), behavior, out);
    });
    std::erase_if(words, [](const Range& word) { return word.begin == word.end; });
  };
}

PreTokenizer punctuation_pre_tokenizer(SplitBehavior behavior) {
  const auto is_punctuation = [](char32_t point) { return (char_class(point) & kPunctuation) != 0; };
  return split_pre_tokenizer(character_pattern(is_punctuation), behavior, false);
}

PreTokenizer digits_pre_tokenizer(bool individual) {
  return split_pre_tokenizer(character_pattern(is_numeric),
                             individual ? SplitBehavior::isolated : SplitBehavior::contiguous, false);
}

PreTokenizer word_pre_tokenizer() { return split_pre_tokenizer(words_and_signs, SplitBehavior::removed, true); }

PreTokenizer fixed_length_pre_tokenizer(int64_t length) {
  return [length](Normalized& text, std::vector<Range>& words, bool) {
    split_each_word(text, words, [&](Range word, std::vector<Range>& out) {
      int64_t count = length;
      for (uint32_t at = word.begin; at < word.end;) {
        const uint32_t end = at + decode_utf8(part_of(text, {at, word.end})).length;
        if (count++ == length) {
          out.push_back({at, at});
          count = 1;
        }
        at = out.back().end = end;
      }
    });
  };
}

PreTokenizer pre_tokenizer_sequence(std::vector<PreTokenizer> steps) {
  return [steps = std::move(steps)](Normalized& text, std::vector<Range>& words, bool starts) {
    for (const PreTokenizer& step : steps) step(text, words, starts);
  };
}

}  // namespace tape::text
