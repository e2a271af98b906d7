#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../text/batch_plan.h"
#include "../text/labelled.h"
#include "../text/tokenizer.h"
#include "../text/unknown_tokens.h"

namespace tape::train {

/// A byte-level BPE of sentences that can pad, as GPT-2's has no token for it.
std::unique_ptr<text::Tokenizer> learn_tokenizer(const std::vector<std::string>& sentences, int64_t vocab_size);

/// Marks about `fraction` of the examples of each group, drawn by the seed: of n examples round(n fraction), but one of
/// each group stays. Groups hold the places of `all` examples. Error (config) naming `name` unless 0 < fraction < 1,
/// and where that is no example at all.
std::vector<bool> draw_part(std::vector<std::vector<size_t>> groups, size_t all, double fraction, uint64_t seed,
                            const std::string& name);

/// Takes about `fraction` of each label's lines out of a corpus, in the order of the file. Errors as draw_part().
text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name);

/// Encodes examples within a length, and counts what of them was lost.
class EncoderTokens {
 public:
  /// With the tokenizer's own tokens around it, cut to max_length tokens.
  text::Encoding encode(const text::Tokenizer& tokenizer, const std::string& sentence, int64_t max_length);
  int64_t cut() const { return cut_; }  ///< examples that were longer
  /// "train.tsv: 2 of 40 lines cut to 24 tokens", and what the tokenizer has no token for; nothing where all was read.
  std::vector<std::string> notes(const std::string& name, size_t examples, int64_t max_length,
                                 const char* kind = "lines") const;

 private:
  text::UnknownTokens unknown_;
  int64_t cut_ = 0;
};

/// Labelled lines as ids.
struct LabelledIds {
  std::vector<std::vector<int64_t>> ids;
  std::vector<int64_t> labels;
  std::vector<text::ExampleLength> lengths;
  EncoderTokens tokens;
};
LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

/// Examples as a model takes them.
struct LabelledBatch {
  std::vector<int64_t> ids, seen;  ///< [B, T]; seen is 0 at padding
  std::vector<int64_t> labels;     ///< [B], or [B, T] where each token has one
  int64_t rows = 0, length = 0;    ///< B, T
};
/// Rows of ids, padded to the longest; the labels are left to the caller.
LabelledBatch collate_ids(std::span<const std::span<const int64_t>> rows, int64_t padding_id);
LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id);

}  // namespace tape::train
