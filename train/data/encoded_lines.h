#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../../text/corpus/batch_plan.h"
#include "../../text/corpus/long_list.h"
#include "../../text/tokenizers/tokenizer.h"
#include "../../text/tokenizers/unknown_tokens.h"

namespace tape::train {

/// Encodes examples up to a maximum length and counts what was lost.
class LineEncoder {
 public:
  /// With special tokens, of any length.
  text::Encoding whole(const text::Tokenizer& tokenizer, const std::string& sentence);
  /// The same, truncated to max_length tokens.
  text::Encoding encode(const text::Tokenizer& tokenizer, const std::string& sentence, int64_t max_length);
  /// Splits into parts of at most max_length tokens, each with its special tokens; none for a sentence without tokens
  /// other than special ones. Throws Error (config) if max_length leaves no room for such a token.
  std::vector<std::vector<int64_t>> parts(const text::Tokenizer& tokenizer, const std::string& sentence,
                                          int64_t max_length);
  int64_t cut() const { return cut_; }  ///< number of examples that were too long
  /// "train.tsv: 2 of 40 lines cut to 24 tokens", and the characters that the tokenizer has no token for; empty if
  /// nothing was lost.
  std::vector<std::string> notes(const std::string& name, size_t examples, int64_t max_length,
                                 const char* kind = "lines") const;
  /// Only the note on characters without a token.
  std::vector<std::string> unknown(const std::string& name) const;

 private:
  text::UnknownTokens unknown_;
  int64_t cut_ = 0;
};

/// Encoded lines.
struct EncodedLines {
  LongList<std::vector<int64_t>> ids;
  std::vector<text::ExampleLength> lengths;
  LineEncoder tokens;

  void add(const std::vector<int64_t>& line);
  /// The members that ranks share: see shared_data().
  void parts(auto&& each) { each(ids), each(lengths); }
};

/// Encodes what `prepare` returns for each line with LineEncoder::encode().
template <class Prepare = std::identity>
EncodedLines encode_lines(const LongList<std::string>& lines, const text::Tokenizer& tokenizer, int64_t max_length,
                          const Prepare& prepare = {}) {
  EncodedLines encoded;
  for (const std::string& line : lines) encoded.add(encoded.tokens.encode(tokenizer, prepare(line), max_length).ids);
  return encoded;
}

/// Lines as model input.
struct PaddedLines {
  std::vector<int64_t> ids, seen;  ///< [B, T]; seen is the attention mask, 0 at padding
  int64_t rows = 0, length = 0;    ///< B, T
};
/// Pads rows of ids to the longest.
PaddedLines pad_rows(const std::vector<std::vector<int64_t>>& rows, int64_t padding_id);
PaddedLines pad_lines(const EncodedLines& lines, const std::vector<int64_t>& which, int64_t padding_id);

/// Marks about `fraction` of the examples of each group at random, by the seed: of small groups, one of every few.
/// Leaves at least one of each group unmarked. Groups have the indices of `all` examples. Throws Error (config) naming
/// `name` unless 0 < fraction < 1, or if no example would be marked.
std::vector<bool> draw_part(std::vector<std::vector<size_t>> groups, size_t all, double fraction, uint64_t seed,
                            const std::string& name);
/// The same with all examples in one group.
std::vector<bool> draw_part(size_t all, double fraction, uint64_t seed, const std::string& name);

}  // namespace tape::train
