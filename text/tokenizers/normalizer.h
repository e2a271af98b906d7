#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../tokenizer.h"
#include "pattern.h"

namespace tape::text {

/// A text on its way to the model, and where each byte of it came from.
struct Normalized {
  Normalized() = default;
  explicit Normalized(std::string_view source) : text(source) {}

  /// The bytes of the source that bytes [begin, end) of the text came from, whole characters. Needs begin < end.
  Range source_of(uint32_t begin, uint32_t end) const;

  std::string text;
  std::vector<Range> origin;  ///< one a byte of `text`; empty while every byte stands where it stood
};

/// Rewrites a text from its start to its end; what it writes becomes the text when it is finished.
class Rewriter {
 public:
  explicit Rewriter(Normalized& text) : text_(text) { out_.reserve(text.text.size()); }

  struct Character {
    char32_t point;
    std::string_view bytes;  ///< in the text
  };

  std::string_view rest() const { return std::string_view(text_.text).substr(at_); }
  /// Bytes taken so far.
  size_t at() const { return at_; }
  bool done() const { return at_ == text_.text.size(); }
  /// Takes a character; what is written next comes from it.
  Character take();
  void put(char32_t point);
  void put(std::string_view part) { put(part, from_); }
  /// Puts a part in the place that something else came from.
  void put(std::string_view part, Range from);
  /// Takes a character and puts it as it is.
  void copy() { put(take().bytes); }
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
using Normalizer = std::function<void(Normalized& text)>;

struct BertNormalizerOptions {
  bool clean_text = true;            ///< drop control characters, make every white space a blank
  bool handle_chinese_chars = true;  ///< blanks around CJK characters
  bool strip_accents = true;
  bool lowercase = true;
};

/// BERT's cleaning, as google-research/bert's BasicTokenizer does it. Broken UTF-8 becomes U+FFFD, which clean_text
/// drops.
Normalizer bert_normalizer(const BertNormalizerOptions& options);

Normalizer lowercase_normalizer();
/// Drops marks (M*); wants decomposed text.
Normalizer strip_accents_normalizer();
/// Drops white space at the ends.
Normalizer strip_normalizer(bool left, bool right);
/// Puts a text before one that is not empty.
Normalizer prepend_normalizer(std::string text);
/// Replaces every match.
Normalizer replace_normalizer(Pattern pattern, std::string content);
/// SentencePiece's NMT rules: control characters go; line ends, tabs, joiners and the like become blanks.
Normalizer nmt_normalizer();
/// Each byte as its character of GPT-2's alphabet.
Normalizer byte_level_normalizer();
enum class UnicodeForm { nfd, nfc, nfkd, nfkc };
Normalizer unicode_normalizer(UnicodeForm form);
/// SentencePiece's character map (its `precompiled_charsmap`). Error (format) for a blob that is malformed.
Normalizer precompiled_normalizer(std::string_view blob, const std::string& where);
/// One after the other.
Normalizer normalizer_sequence(std::vector<Normalizer> steps);

}  // namespace tape::text
