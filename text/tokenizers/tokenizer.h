#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// Byte range [begin, end) of a text.
struct Range {
  uint32_t begin = 0,  ///< first byte
      end = 0;         ///< one past the last byte
  /// Memberwise.
  friend bool operator==(const Range&, const Range&) = default;
};

/// Model input for one text or pair of texts. Every member has one entry per token.
struct Encoding {
  std::vector<int64_t> ids;             ///< token ids
  std::vector<int64_t> type_ids;        ///< segment: 0 for the first text, 1 for the second
  std::vector<int64_t> attention_mask;  ///< 0 at padding
  /// Bytes of the original text that each token came from: whole characters; [0, 0) for special tokens that were added.
  /// Each byte of invalid UTF-8 counts as a character.
  std::vector<Range> offsets;
  std::vector<uint8_t> special_tokens_mask;  ///< 1 for special tokens that were added (start, end, padding)

  /// Number of tokens, including added ones.
  size_t size() const { return ids.size(); }
};

/// How a pair longer than max_length is truncated. If only added tokens fit, both texts are removed.
enum class Truncation {
  longest_first,  ///< shorten the longer text until both have the same length, then both
  only_first,     ///< shorten the first text; Error (config) if that is not enough
  only_second,    ///< shorten the second text; Error (config) if there is none or that is not enough
  none,           ///< no truncation: max_length must be 0
};

/// An end of a token sequence, at which tokens are removed or padding is added.
enum class Side { right, left };

/// Options of Tokenizer::encode() and its variants.
struct EncodeOptions {
  bool add_special_tokens = true;                     ///< add the tokens around a text: start, end, separator, language
  int64_t max_length = 0;                             ///< maximum number of tokens, including added ones; 0: no limit
  Truncation truncation = Truncation::longest_first;  ///< which text of a pair is shortened if max_length is exceeded
  Side truncation_side = Side::right;                 ///< where tokens are removed
};

/// Length to which encodings are padded: unchanged, the longest of the batch, or PadOptions::length.
enum class Padding { none, longest, fixed };

/// Options of Tokenizer::pad() and the batch functions.
struct PadOptions {
  Padding to = Padding::longest;  ///< target length
  int64_t length = 0;             ///< for Padding::fixed; longer encodings are unchanged
  int64_t multiple_of = 1;        ///< rounds the length up to a multiple of this
  Side side = Side::right;        ///< where padding is added
};

/// Ids of special tokens, -1 for those that a tokenizer does not have.
struct SpecialTokens {
  int64_t pad = -1,  ///< padding
      unk = -1,      ///< unknown token
      cls = -1,      ///< start of an encoder's text, whose output represents the whole
      sep = -1,      ///< separator of two texts
      mask = -1,     ///< masked token
      bos = -1,      ///< start of a text
      eos = -1;      ///< end of a text
};

/// A token and the bytes of the text it came from.
struct Piece {
  int32_t id;      ///< token
  uint32_t begin,  ///< first byte
      end;         ///< one past the last byte
};

/// Converts texts to ids and back. Encoding is thread-safe. A text may contain any bytes, including invalid UTF-8 and
/// NUL, up to 2^32 - 1 of them (Error (config) beyond).
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Throws Error (config) if max_length is less than the number of added tokens, or if `truncation` does not allow
  /// cutting enough.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Encodes a pair of texts; the second has type id 1.
  Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;
  /// Encodes and pads several texts. Throws Error (config) if padding needs a padding token and there is none.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts, const EncodeOptions& options = {},
                                     const PadOptions& padding = {}) const;
  /// Throws Error (shape) if the lists differ in length.
  std::vector<Encoding> encode_pair_batch(std::span<const std::string> firsts, std::span<const std::string> seconds,
                                          const EncodeOptions& options = {}, const PadOptions& padding = {}) const;
  /// Pads encodings in place, see encode_batch.
  void pad(std::span<Encoding> encodings, const PadOptions& options) const;

  /// Decodes ids to text, by default without special tokens. Throws Error (index) for an id that is not in the
  /// vocabulary.
  std::string decode(std::span<const int64_t> ids, bool skip_special_tokens = true) const;

  /// Tokenizer for texts of the target language; this object itself unless a translation model's sides differ.
  virtual const Tokenizer& target() const { return *this; }
  /// Token of this tokenizer's language, if it has several. A multilingual model generates it first in a translation.
  virtual std::optional<int64_t> language() const { return std::nullopt; }
  /// Whether a target begins with that token (mBART), so that it is not generated.
  virtual bool target_begins_with_language() const { return false; }

  /// Ids are 0 to vocab_size() - 1.
  virtual int64_t vocab_size() const = 0;
  /// The token with an id, as in the vocabulary (`##ing`, `Ġthe`, `▁the`). Throws Error (index).
  virtual const std::string& token(int64_t id) const = 0;
  /// The id of a token, nullopt if it is not in the vocabulary.
  virtual std::optional<int64_t> find(std::string_view token) const = 0;
  /// The tokens with these ids, see token(). Throws Error (index).
  std::vector<std::string> tokens(std::span<const int64_t> ids) const;
  /// Ids of the tokenizer's special tokens.
  const SpecialTokens& special() const { return special_; }
  /// Whether a token is special, which decode omits (but see skipped()).
  virtual bool is_special(int64_t id) const = 0;

  /// Writes the files that load_tokenizer and `transformers` read. Creates the folder if needed.
  virtual void save(const std::string& folder) const = 0;

  /// Explains step by step how a text is split, as lines to print.
  virtual std::vector<std::string> explain(std::string_view text) const = 0;

 protected:
  Tokenizer() = default;

  /// An element of the template around texts.
  struct Part {
    /// What the element stands for.
    enum class Kind { special, first, second } kind;  ///< a special token, or one of the texts
    int64_t id = 0;                                   ///< for Kind::special
    int64_t type_id = 0;                              ///< type id of the part's tokens
  };
  /// Templates around a single text and a pair.
  struct Template {
    /// The parts, in order.
    /// @{
    std::vector<Part> single{{Part::Kind::first}}, pair{{Part::Kind::first}, {Part::Kind::second, 0, 1}};
    /// @}
  };

  /// Appends the pieces of a text, without special tokens.
  virtual void split(std::string_view text, std::vector<Piece>& to) const = 0;
  /// Whether decode omits a token if it skips special tokens.
  virtual bool skipped(int64_t id) const { return is_special(id); }
  /// Decodes ids from which skipped special tokens were already removed.
  virtual std::string join(std::span<const int64_t> ids) const = 0;

  /// Sets the template to [begin] text [end] for each text, with the tokens that are enabled.
  void set_bos_eos_template(bool begin, bool end);
  /// Sets it to [language] text [end], or with the language after the end, as for multilingual translation models.
  void set_language_template(int64_t language, bool behind);

  Template template_;      ///< added around texts; default: nothing
  SpecialTokens special_;  ///< set by the constructor of a derived class

 private:
  Encoding build(const std::vector<Part>& parts, std::vector<Piece>& first, std::vector<Piece>& second, bool pair,
                 const EncodeOptions& options) const;
};

}  // namespace tape::text
