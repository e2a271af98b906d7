#include "text/tokenizers/pre_tokenizer.h"

#include "text/tokenizers/byte_level.h"
#include "text/tokenizers/unicode.h"
#include "text/tokenizers/word_patterns.h"

namespace tape::text {
namespace {

/// Splits at characters of some classes: those of `drop` go, those of `isolate` are words of their own.
class ClassPreTokenizer : public PreTokenizer {
 public:
  ClassPreTokenizer(uint8_t drop, uint8_t isolate) : drop_(drop), isolate_(isolate) {}

  void apply(Normalized& text, std::vector<Range>& words, bool) const override {
    std::vector<Range> out;
    out.reserve(text.text.size() / 4 + 1);
    for (const Range& word : words) split(text.text, word, out);
    words = std::move(out);
  }

 private:
  void split(std::string_view text, Range word, std::vector<Range>& out) const {
    uint32_t begin = word.begin;
    const std::string_view all = text.substr(0, word.end);
    for (uint32_t at = word.begin; at < word.end;) {
      const CodePoint point = decode_utf8(all.substr(at));
      const uint8_t classes = char_class(point.value);
      if (classes & (drop_ | isolate_)) {
        if (begin < at) out.push_back({begin, at});
        begin = at + point.length;
        if (!(classes & drop_)) out.push_back({at, begin});
      }
      at += point.length;
    }
    if (begin < word.end) out.push_back({begin, word.end});
  }

  uint8_t drop_, isolate_;
};

/// Rewrites each word; `begin_word(first source bytes)` may put something before it.
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
      const std::string_view all = std::string_view(text.text).substr(word.begin, word.end - word.begin);
      begin_word(all, text.source_of(word.begin, word.begin + decode_utf8(all).length), put);
      for (uint32_t at = word.begin; at < word.end;) {
        const uint32_t length = decode_utf8(std::string_view(text.text).substr(at, word.end - at)).length;
        each(std::string_view(text.text).substr(at, length), text.source_of(at, at + length), put);
        at += length;
      }
    }
    placed.push_back({begin, static_cast<uint32_t>(out.text.size())});
  }
  text = std::move(out);
  words = std::move(placed);
}

class ByteLevelPreTokenizer : public PreTokenizer {
 public:
  explicit ByteLevelPreTokenizer(const ByteLevelOptions& options) : options_(options) {}

  void apply(Normalized& text, std::vector<Range>& words, bool) const override {
    if (options_.add_prefix_space) prefix_words(text, words);
    if (options_.split) split_words(text.text, words);
    if (options_.write) write_words(text, words);
  }

 private:
  static void prefix_words(Normalized& text, std::vector<Range>& words) {
    rewrite_words(
        text, words,
        [](std::string_view word, Range from, auto&& put) {
          if (!word.starts_with(' ')) put(" ", from);
        },
        [](std::string_view character, Range from, auto&& put) { put(character, from); });
  }

  static void split_words(std::string_view text, std::vector<Range>& words) {
    std::vector<Range> out;
    out.reserve(text.size() / 4 + 1);
    for (const Range& word : words)
      for (uint32_t at = word.begin; at < word.end;) {
        const auto length = static_cast<uint32_t>(gpt2_word(text.substr(at, word.end - at)));
        out.push_back({at, at + length});
        at += length;
      }
    words = std::move(out);
  }

  static void write_words(Normalized& text, std::vector<Range>& words) {
    rewrite_words(
        text, words, [](auto&&...) {},
        [](std::string_view character, Range from, auto&& put) { put(to_byte_characters(character), from); });
  }

  ByteLevelOptions options_;
};

class MetaspacePreTokenizer : public PreTokenizer {
 public:
  explicit MetaspacePreTokenizer(const MetaspaceOptions& options) : options_(options) {}

  void apply(Normalized& text, std::vector<Range>& words, bool starts) const override {
    rewrite_words(
        text, words,
        [&](std::string_view word, Range from, auto&& put) {
          const bool wanted = options_.prepend == PrependScheme::always ||
                              (options_.prepend == PrependScheme::first && starts && from.begin == 0);
          if (wanted && !word.starts_with(' ') && !word.starts_with(options_.replacement))
            put(options_.replacement, from);
        },
        [&](std::string_view character, Range from, auto&& put) {
          put(character == " " ? std::string_view(options_.replacement) : character, from);
        });
    if (options_.split) split_words(text.text, words);
  }

 private:
  /// A word begins at each replacement.
  void split_words(std::string_view text, std::vector<Range>& words) const {
    std::vector<Range> out;
    for (const Range& word : words) {
      uint32_t begin = word.begin;
      for (uint32_t at = word.begin; at < word.end;) {
        const size_t found = text.substr(0, word.end).find(options_.replacement, at);
        if (found == std::string_view::npos) break;
        const auto next = static_cast<uint32_t>(found);
        if (begin < next) out.push_back({begin, next});
        begin = next;
        at = next + static_cast<uint32_t>(options_.replacement.size());
      }
      if (begin < word.end) out.push_back({begin, word.end});
    }
    words = std::move(out);
  }

  MetaspaceOptions options_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> steps) : steps_(std::move(steps)) {}
  void apply(Normalized& text, std::vector<Range>& words, bool starts) const override {
    for (const PreTokenizerPtr& step : steps_) step->apply(text, words, starts);
  }

 private:
  std::vector<PreTokenizerPtr> steps_;
};

}  // namespace

PreTokenizerPtr bert_pre_tokenizer() { return std::make_unique<ClassPreTokenizer>(kWhiteSpace, kPunctuation); }
PreTokenizerPtr whitespace_pre_tokenizer() { return std::make_unique<ClassPreTokenizer>(kWhiteSpace, uint8_t{0}); }
PreTokenizerPtr byte_level_pre_tokenizer(const ByteLevelOptions& options) {
  return std::make_unique<ByteLevelPreTokenizer>(options);
}
PreTokenizerPtr metaspace_pre_tokenizer(const MetaspaceOptions& options) {
  return std::make_unique<MetaspacePreTokenizer>(options);
}
PreTokenizerPtr pre_tokenizer_sequence(std::vector<PreTokenizerPtr> steps) {
  return std::make_unique<PreTokenizerSequence>(std::move(steps));
}

}  // namespace tape::text
