#include "train/labelled_words.h"

namespace tape::train {

text::LabelledWords take_part(text::LabelledWords& corpus, double fraction, uint64_t seed, const std::string& name) {
  const std::vector<bool> taken = draw_part(corpus.words.size(), fraction, seed, name);
  text::LabelledWords left, part;
  left.label_names = part.label_names = corpus.label_names;
  for (size_t i = 0; i < taken.size(); ++i) {
    text::LabelledWords& to = taken[i] ? part : left;
    to.words.push_back(std::move(corpus.words[i]));
    to.labels.push_back(std::move(corpus.labels[i]));
    to.line.push_back(corpus.line[i]);
  }
  corpus = std::move(left);
  return part;
}

LabelledWordIds encode_labelled(const text::LabelledWords& corpus, const text::Tokenizer& tokenizer,
                                int64_t max_length) {
  LabelledWordIds all;
  for (size_t i = 0; i < corpus.words.size(); ++i) {
    const std::vector<std::string>& words = corpus.words[i];
    text::WordIds placed =
        text::place_words(words, all.tokens.encode(tokenizer, text::joined_words(words), max_length));
    all.all_words += std::ssize(words);
    all.lost_words += std::ssize(words) - std::ssize(placed.words);
    if (placed.words.empty()) continue;
    std::vector<int64_t>& labels = all.labels.emplace_back();
    for (const int64_t word : placed.words) labels.push_back(corpus.labels[i][static_cast<size_t>(word)]);
    all.lengths.push_back({.source = std::ssize(placed.ids)});
    all.sentence.push_back(i);
    all.words.push_back(std::move(placed));
  }
  return all;
}

LabelledBatch collate_labelled(const LabelledWordIds& sentences, const std::vector<int64_t>& which,
                               int64_t padding_id) {
  constexpr int64_t kNone = -100;
  std::vector<std::span<const int64_t>> rows;
  for (const int64_t sentence : which) rows.emplace_back(sentences.words[static_cast<size_t>(sentence)].ids);
  LabelledBatch batch{pad_rows(rows, padding_id), {}};
  batch.labels.assign(batch.ids.size(), kNone);
  auto row = int64_t{0};
  for (const int64_t sentence : which) {
    const std::vector<int64_t>& places = sentences.words[static_cast<size_t>(sentence)].places;
    const std::vector<int64_t>& labels = sentences.labels[static_cast<size_t>(sentence)];
    // Of two words that share a token the first counts.
    for (size_t word = places.size(); word-- > 0;)
      batch.labels[static_cast<size_t>(row * batch.length + places[word])] = labels[word];
    ++row;
  }
  return batch;
}

}  // namespace tape::train
