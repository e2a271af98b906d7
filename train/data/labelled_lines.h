#pragma once

#include "../../text/labelled.h"
#include "encoded_lines.h"

namespace tape::train {

/// Takes about `fraction` of each label's lines out of a corpus, in the order of the file. Errors as draw_part().
text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name);

/// Labelled lines as ids.
struct LabelledIds : EncodedLines {
  std::vector<int64_t> labels;

  void parts(auto&& each) { EncodedLines::parts(each), each(labels); }
};
/// As encode_lines().
LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length);

struct LabelledBatch : PaddedLines {
  std::vector<int64_t> labels;  ///< [B], or [B, T] where each token has one
};
LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id);

}  // namespace tape::train
