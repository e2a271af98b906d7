#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "../patterns/pattern.h"
#include "../tokenizer.h"

namespace tape::text {

/// A text during normalization, with the origin of each byte.
struct Normalized {
  Normalized() = default;
  explicit Normalized(std::string_view source) : text(source) {}

  /// The source bytes, whole characters, of bytes [begin, end) of the text. Requires begin < end.
  Range source_of(uint32_t begin, uint32_t end) const;

  std::string text;
  std::vector<Range> origin;  ///< one per byte of `text`; empty while text and source are aligned byte by byte
};

/// Rewrites a text from start to end. finish() replaces the text with the output.
class Rewriter {
 public:
  explicit Rewriter(Normalized& text) : text_(text) { out_.reserve(text.text.size()); }

  struct Character {
    char32_t point;
    std::string_view bytes;  ///< points into the text
  };

  std::string_view rest() const { return std::string_view(text_.text).substr(at_); }
  /// Number of bytes read.
  size_t at() const { return at_; }
  bool done() const { return at_ == text_.text.size(); }
  /// Reads a character, which becomes the origin of the output that follows.
  Character take();
  void put(char32_t point);
  void put(std::string_view part) { put(part, from_); }
  /// Writes a part with another origin.
  void put(std::string_view part, Range from);
  /// Copies a character.
  void copy() { put(take().bytes); }
  Range from() const { return from_; }
  /// Replaces the text. Call once, at the end.
  void finish();

 private:
  Normalized& text_;
  std::string out_;
  std::vector<Range> origin_;
  size_t at_ = 0;
  Range from_{};
};

/// Rewrites a text before it is split into words.
using Normalizer = std::function<void(Normalized& text)>;

struct BertNormalizerOptions {
  bool clean_text = true;            ///< remove control characters, convert all white space to spaces
  bool handle_chinese_chars = true;  ///< put spaces around CJK characters
  bool strip_accents = true;
  bool lowercase = true;
};

/// BERT's cleaning, as in google-research/bert's BasicTokenizer. Invalid UTF-8 becomes U+FFFD, which clean_text
/// removes.
Normalizer bert_normalizer(const BertNormalizerOptions& options);

Normalizer lowercase_normalizer();
/// Removes marks (M*). Requires decomposed text.
Normalizer strip_accents_normalizer();
/// Removes white space at the ends.
Normalizer strip_normalizer(bool left, bool right);
/// Prepends a prefix to a non-empty text.
Normalizer prepend_normalizer(std::string text);
/// Replaces every match.
Normalizer replace_normalizer(Pattern pattern, std::string content);
/// SentencePiece's NMT rules: removes control characters; converts line ends, tabs, joiners and the like to spaces.
Normalizer nmt_normalizer();
/// Converts each byte to its character in GPT-2's alphabet.
Normalizer byte_level_normalizer();
enum class UnicodeForm { nfd, nfc, nfkd, nfkc };
Normalizer unicode_normalizer(UnicodeForm form);
/// SentencePiece's character map (`precompiled_charsmap`). Throws Error (format) for a malformed blob.
Normalizer precompiled_normalizer(std::string_view blob, const std::string& where);
/// Applies the steps in order.
Normalizer normalizer_sequence(std::vector<Normalizer> steps);

}  // namespace tape::text
