#pragma once

#include "../text/batch_plan.h"
#include "../text/labelled.h"
#include "../text/tokenizer.h"

namespace tape::train {

/// Takes about `fraction` of each label's lines out of a corpus, drawn by the seed, in the order of the file: of n
/// lines round(n fraction), but one stays to learn from. Error (config) naming `name` unless 0 < fraction < 1, and
/// where that is no line at all.
text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name);

/// Labelled lines as ids.
struct LabelledIds {
  std::vector<std::vector<int64_t>> ids;
  std::vector<int64_t> labels;
  std::vector<text::ExampleLength> lengths;
  int64_t cut = 0;      ///< lines that were longer than max_length
  std::string unknown;  ///< what the tokenizer has no token for, see UnknownTokens::note()
};

/// With the tokenizer's own tokens around them, cut to max_length tokens, which is counted.
LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

/// Lines as a model takes them.
struct LabelledBatch {
  std::vector<int64_t> ids, seen;  ///< [B, T]; seen is 0 at padding
  std::vector<int64_t> labels;     ///< [B]
  int64_t rows = 0, length = 0;    ///< B, T
};
LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id);

}  // namespace tape::train
