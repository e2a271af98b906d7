#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer.h"
#include "pattern.h"

namespace tape::text {

/// A text on its way to the model, and where each byte of it came from.
class Normalized {
 public:
  Normalized() = default;
  explicit Normalized(std::string_view source) { reset(source); }

  void reset(std::string_view source) {
    text.assign(source);
    origin.clear();
  }
  /// True while every byte stands where it stood.
  bool in_place() const { return origin.empty(); }
  /// The bytes of the source that bytes [begin, end) of the text came from, whole characters. Needs begin < end.
  Range source_of(uint32_t begin, uint32_t end) const;

  std::string text;
  std::vector<Range> origin;  ///< one a byte of `text`; empty while in_place()
};

/// Rewrites a text from its start to its end; what it writes becomes the text when it is finished.
class Rewriter {
 public:
  explicit Rewriter(Normalized& text) : text_(text) { out_.reserve(text.text.size()); }

  std::string_view rest() const { return std::string_view(text_.text).substr(at_); }
  bool done() const { return at_ == text_.text.size(); }
  /// Takes `bytes` of the text; what is written next comes from them.
  void take(size_t bytes);
  void put(char32_t point);
  void put(std::string_view part);
  /// Puts a part in the place that something else came from.
  void put(std::string_view part, Range from);
  /// Takes a character and puts it as it is.
  void copy();
  Range from() const { return from_; }
  /// Replaces the text. Call once, last.
  void finish();

 private:
  Normalized& text_;
  std::string out_;
  std::vector<Range> origin_;
  size_t at_ = 0;
  Range from_{};
};

/// Rewrites a text before it is split.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(Normalized& text) const = 0;
};

using NormalizerPtr = std::unique_ptr<const Normalizer>;

struct BertNormalizerOptions {
  bool clean_text = true;            ///< drop control characters, make every white space a blank
  bool handle_chinese_chars = true;  ///< blanks around CJK characters
  bool strip_accents = true;
  bool lowercase = true;
};

/// BERT's cleaning, as google-research/bert's BasicTokenizer does it. Broken UTF-8 becomes U+FFFD, which clean_text
/// drops.
NormalizerPtr bert_normalizer(const BertNormalizerOptions& options);

NormalizerPtr lowercase_normalizer();
/// Drops marks (M*); wants decomposed text.
NormalizerPtr strip_accents_normalizer();
/// Drops white space at the ends.
NormalizerPtr strip_normalizer(bool left, bool right);
/// Puts a text before one that is not empty.
NormalizerPtr prepend_normalizer(std::string text);
/// Replaces every match.
NormalizerPtr replace_normalizer(PatternPtr pattern, std::string content);
/// SentencePiece's NMT rules: control characters go; line ends, tabs, joiners and the like become blanks.
NormalizerPtr nmt_normalizer();
/// Each byte as its character of GPT-2's alphabet.
NormalizerPtr byte_level_normalizer();
/// One after the other.
NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> steps);

}  // namespace tape::text
