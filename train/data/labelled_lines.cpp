#include "train/data/labelled_lines.h"

namespace tape::train {

text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name) {
  std::vector<std::vector<size_t>> of_label(corpus.label_names.size());
  for (size_t i = 0; i < corpus.sentences.size(); ++i) of_label[static_cast<size_t>(corpus.labels[i])].push_back(i);
  const std::vector<bool> taken = draw_part(std::move(of_label), corpus.sentences.size(), fraction, seed, name);
  text::LabelledCorpus left, part;
  left.label_names = part.label_names = corpus.label_names;
  for (size_t i = 0; i < taken.size(); ++i) {
    text::LabelledCorpus& to = taken[i] ? part : left;
    to.sentences.push_back(corpus.sentences[i]);
    to.labels.push_back(corpus.labels[i]);
    to.line.push_back(corpus.line[i]);
  }
  corpus = std::move(left);
  return part;
}

LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length) {
  return {encode_lines(corpus.sentences, tokenizer, max_length), corpus.labels};
}

LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id) {
  LabelledBatch batch{pad_lines(lines, which, padding_id), {}};
  for (const int64_t place : which) batch.labels.push_back(lines.labels[static_cast<size_t>(place)]);
  return batch;
}

}  // namespace tape::train
