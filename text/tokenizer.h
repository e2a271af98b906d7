#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// Bytes [begin, end) of a text.
struct Range {
  uint32_t begin = 0, end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// One text or pair of texts as a model takes it; every member has one entry a token.
struct Encoding {
  std::vector<int64_t> ids;
  std::vector<int64_t> type_ids;        ///< segment: 0 in the first text, 1 in the second
  std::vector<int64_t> attention_mask;  ///< 0 at padding
  /// The bytes of the original text that the token came from: whole characters, [0, 0) for tokens that were added.
  /// Broken UTF-8 counts as it stands, byte by byte.
  std::vector<Range> offsets;
  std::vector<uint8_t> special_tokens_mask;  ///< 1 for tokens that were added (start, end, padding)

  size_t size() const { return ids.size(); }
};

/// What is cut from a pair that is longer than max_length. With room for no token of theirs, both texts go.
enum class Truncation {
  longest_first,  ///< the longer text, until both have the same length, then both
  only_first,
  only_second,
  none,  ///< nothing: max_length must be 0
};

enum class Side { right, left };

struct EncodeOptions {
  bool add_special_tokens = true;
  int64_t max_length = 0;  ///< tokens, those that are added included; 0: any
  Truncation truncation = Truncation::longest_first;
  Side truncation_side = Side::right;  ///< where tokens are cut off
};

enum class Padding { none, longest, fixed };

struct PadOptions {
  Padding to = Padding::longest;
  int64_t length = 0;       ///< of Padding::fixed; longer encodings stay as they are
  int64_t multiple_of = 1;  ///< the length is rounded up to a multiple of this
  Side side = Side::right;  ///< where padding stands
};

/// Ids of the tokens with a meaning of their own, -1 for those that a tokenizer does not have.
struct SpecialTokens {
  int64_t pad = -1, unk = -1, cls = -1, sep = -1, mask = -1, bos = -1, eos = -1;
};

/// A piece of a text: a token and the bytes it came from.
struct Piece {
  int32_t id;
  uint32_t begin, end;
};

/// Turns texts into ids and back. Encodes from several threads at once; a text may hold anything, broken UTF-8 and NUL
/// included, and up to 2^32 - 1 bytes (Error (config) beyond).
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  /// Error (config) when max_length is less than the tokens that are added, or when `truncation` may not cut as much as
  /// is needed.
  Encoding encode(std::string_view text, const EncodeOptions& options = {}) const;
  /// Two texts in one encoding, the second with type id 1.
  Encoding encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options = {}) const;
  /// One encoding a text, padded. Error (config) where padding is asked for and the tokenizer has no padding token.
  std::vector<Encoding> encode_batch(std::span<const std::string> texts, const EncodeOptions& options = {},
                                     const PadOptions& padding = {}) const;
  /// Error (shape) when the lists differ in length.
  std::vector<Encoding> encode_pair_batch(std::span<const std::string> firsts, std::span<const std::string> seconds,
                                          const EncodeOptions& options = {}, const PadOptions& padding = {}) const;
  /// Pads encodings in place; see encode_batch.
  void pad(std::span<Encoding> encodings, const PadOptions& options) const;

  /// The text of ids; special tokens are left out unless they are to be kept. Error (index) for an id that is not in
  /// the vocabulary.
  std::string decode(std::span<const int64_t> ids, bool skip_special_tokens = true) const;

  /// Encodes and decodes texts of the target language; itself unless a translator's two sides differ.
  virtual const Tokenizer& target() const { return *this; }
  /// The token of the language whose texts this encodes, where it has several: what a model of many languages says
  /// first in a translation.
  virtual std::optional<int64_t> language() const { return std::nullopt; }
  /// Whether a target begins with that token (mBART), which then is not said.
  virtual bool language_begins() const { return false; }

  /// Ids are 0 to vocab_size() - 1.
  virtual int64_t vocab_size() const = 0;
  /// The token of an id, as the vocabulary writes it (`##ing`, `Ġthe`, `▁the`). Error (index).
  virtual const std::string& token(int64_t id) const = 0;
  /// The id of a token, nothing when it is not in the vocabulary.
  virtual std::optional<int64_t> find(std::string_view token) const = 0;
  std::vector<std::string> tokens(std::span<const int64_t> ids) const;
  const SpecialTokens& special() const { return special_; }
  /// True for special tokens, which decode leaves out (but see skipped()).
  virtual bool is_special(int64_t id) const = 0;

  /// Writes the files that load_tokenizer and `transformers` read into a folder, which is made where it is missing.
  virtual void save(const std::string& folder) const = 0;

  /// How a text is split, step by step, as lines to print.
  virtual std::vector<std::string> explain(std::string_view text) const = 0;

 protected:
  Tokenizer() = default;

  /// What stands around the texts.
  struct Part {
    enum class Kind { special, first, second } kind;
    int64_t id = 0;  ///< of Kind::special
    int64_t type_id = 0;
  };
  struct Template {
    std::vector<Part> single{{Part::Kind::first}}, pair{{Part::Kind::first}, {Part::Kind::second, 0, 1}};
  };

  /// Appends the pieces of a text, without special tokens around it.
  virtual void split(std::string_view text, std::vector<Piece>& to) const = 0;
  /// Whether decode skips a token when special tokens are to be left out.
  virtual bool skipped(int64_t id) const { return is_special(id); }
  /// The text of ids without special ones among them that are to be left out.
  virtual std::string join(std::span<const int64_t> ids) const = 0;

  /// [begin] text [end] around each text, where those tokens are to be added.
  void surround_each(bool begin, bool end);
  /// [language] text [end], or with the language behind the end, as translators of many languages read texts.
  void surround_with_language(int64_t language, bool behind);

  Template template_;
  SpecialTokens special_;

 private:
  Encoding build(const std::vector<Part>& parts, std::vector<Piece>& first, std::vector<Piece>& second, bool pair,
                 const EncodeOptions& options) const;
};

}  // namespace tape::text
