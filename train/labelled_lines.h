#pragma once

#include "../text/labelled.h"
#include "encoded_lines.h"

namespace tape::train {

/// Takes about `fraction` of each label's lines out of a corpus, drawn by the seed, in the order of the file: of n
/// lines round(n fraction), but one stays to learn from. Error (config) naming `name` unless 0 < fraction < 1, and
/// where that is no line at all.
text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name);

/// Labelled lines as ids.
struct LabelledIds : EncodedLines {
  std::vector<int64_t> labels;
};
/// As encode_lines().
LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

struct LabelledBatch : PaddedLines {
  std::vector<int64_t> labels;  ///< [B]
};
LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id);

}  // namespace tape::train
