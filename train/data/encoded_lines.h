#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../text/batch_plan.h"
#include "../../text/long_list.h"
#include "../../text/tokenizer.h"
#include "../../text/unknown_tokens.h"

namespace tape::train {

/// Encodes examples within a length, and counts what of them was lost.
class EncoderTokens {
 public:
  /// With the tokenizer's own tokens around it, of any length.
  text::Encoding whole(const text::Tokenizer& tokenizer, const std::string& sentence);
  /// The same cut to max_length tokens.
  text::Encoding encode(const text::Tokenizer& tokenizer, const std::string& sentence, int64_t max_length);
  /// As whole(), as several of at most max_length tokens, each with the tokenizer's own around it; none for a sentence
  /// without tokens of its own. Error (config) where max_length leaves no room for one.
  std::vector<std::vector<int64_t>> parts(const text::Tokenizer& tokenizer, const std::string& sentence,
                                          int64_t max_length);
  int64_t cut() const { return cut_; }  ///< examples that were longer
  /// "train.tsv: 2 of 40 lines cut to 24 tokens", and what the tokenizer has no token for; nothing where all was read.
  std::vector<std::string> notes(const std::string& name, size_t examples, int64_t max_length,
                                 const char* kind = "lines") const;
  /// The latter alone.
  std::vector<std::string> unknown(const std::string& name) const;

 private:
  text::UnknownTokens unknown_;
  int64_t cut_ = 0;
};

/// Lines as ids.
struct EncodedLines {
  LongList<std::vector<int64_t>> ids;
  std::vector<text::ExampleLength> lengths;
  EncoderTokens tokens;

  void add(const std::vector<int64_t>& line);
  /// What is learned from: see shared_data().
  void parts(auto&& each) { each(ids), each(lengths); }
};

/// As EncoderTokens::encode() has them.
EncodedLines encode_lines(const LongList<std::string>& lines, const text::Tokenizer& tokenizer, int64_t max_length);

/// Lines as a model takes them.
struct PaddedLines {
  std::vector<int64_t> ids, seen;  ///< [B, T]; seen is 0 at padding
  int64_t rows = 0, length = 0;    ///< B, T
};
/// Rows of ids, padded to the longest.
PaddedLines pad_rows(const std::vector<std::vector<int64_t>>& rows, int64_t padding_id);
PaddedLines pad_lines(const EncodedLines& lines, const std::vector<int64_t>& which, int64_t padding_id);

/// Marks about `fraction` of the examples of each group, drawn by the seed: of n examples round(n fraction), but one of
/// each group stays. Groups hold the places of `all` examples. Error (config) naming `name` unless 0 < fraction < 1,
/// and where that is no example at all.
std::vector<bool> draw_part(std::vector<std::vector<size_t>> groups, size_t all, double fraction, uint64_t seed,
                            const std::string& name);
/// The same of `all` examples in one group.
std::vector<bool> draw_part(size_t all, double fraction, uint64_t seed, const std::string& name);

}  // namespace tape::train
