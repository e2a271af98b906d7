#include "train/data/labeled.h"

namespace tape::train {
namespace {

/// Moves drawn examples out of a corpus whose `texts` have a label and a line each.
template <class Corpus, class Texts>
Corpus part_of(Corpus& corpus, Texts Corpus::*texts, const std::vector<bool>& taken) {
  Corpus left, part;
  left.label_names = part.label_names = corpus.label_names;
  for (size_t i = 0; i < taken.size(); ++i) {
    Corpus& to = taken[i] ? part : left;
    (to.*texts).push_back((corpus.*texts)[i]);
    to.labels.push_back(corpus.labels[i]);
    to.line.push_back(corpus.line[i]);
  }
  corpus = std::move(left);
  return part;
}

}  // namespace

text::LabeledCorpus take_part(text::LabeledCorpus& corpus, double fraction, uint64_t seed, const std::string& name) {
  std::vector<std::vector<size_t>> of_label(corpus.label_names.size());
  for (size_t i = 0; i < corpus.sentences.size(); ++i) of_label[static_cast<size_t>(corpus.labels[i])].push_back(i);
  const std::vector<bool> taken = draw_part(std::move(of_label), corpus.sentences.size(), fraction, seed, name);
  return part_of(corpus, &text::LabeledCorpus::sentences, taken);
}

LabeledIds encode_labeled(const text::LabeledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length) {
  return {encode_lines(corpus.sentences, tokenizer, max_length), corpus.labels};
}

LabeledBatch collate_labeled(const LabeledIds& lines, const std::vector<int64_t>& which, int64_t padding_id) {
  LabeledBatch batch{pad_lines(lines, which, padding_id), {}};
  for (const int64_t place : which) batch.labels.push_back(lines.labels[static_cast<size_t>(place)]);
  return batch;
}

text::LabeledWords take_part(text::LabeledWords& corpus, double fraction, uint64_t seed, const std::string& name) {
  const std::vector<bool> taken = draw_part(corpus.words.size(), fraction, seed, name);
  return part_of(corpus, &text::LabeledWords::words, taken);
}

LabeledWordIds encode_labeled(const text::LabeledWords& corpus, const text::Tokenizer& tokenizer, int64_t max_length) {
  LabeledWordIds all;
  for (size_t i = 0; i < corpus.words.size(); ++i) {
    const std::vector<std::string> words = corpus.words[i];
    const text::WordIds placed =
        text::align_words(words, all.tokens.encode(tokenizer, text::joined_words(words), max_length));
    all.all_words += std::ssize(words);
    all.lost_words += std::ssize(words) - std::ssize(placed.words);
    if (placed.words.empty()) continue;
    const std::vector<int64_t> of_words = corpus.labels[i];
    std::vector<int64_t> labels;
    labels.reserve(placed.words.size());
    for (const int64_t word : placed.words) labels.push_back(of_words[static_cast<size_t>(word)]);
    all.labels.push_back(labels);
    all.lengths.push_back({.source = std::ssize(placed.ids)});
    all.sentence.push_back(static_cast<int64_t>(i));
    all.words.push_back(placed);
  }
  return all;
}

LabeledBatch collate_labeled(const LabeledWordIds& sentences, const std::vector<int64_t>& which, int64_t padding_id) {
  constexpr int64_t kNone = -100;
  std::vector<text::WordIds> words;
  std::vector<std::vector<int64_t>> rows;
  for (const int64_t sentence : which) {
    words.push_back(sentences.words[static_cast<size_t>(sentence)]);
    rows.push_back(words.back().ids);
  }
  LabeledBatch batch{pad_rows(rows, padding_id), {}};
  batch.labels.assign(batch.ids.size(), kNone);
  for (size_t row = 0; row < which.size(); ++row) {
    const std::vector<int64_t>& places = words[row].places;
    const std::vector<int64_t> labels = sentences.labels[static_cast<size_t>(which[row])];
    // If two words share a token, the first one labels it.
    for (size_t word = places.size(); word-- > 0;)
      batch.labels[row * static_cast<size_t>(batch.length) + static_cast<size_t>(places[word])] = labels[word];
  }
  return batch;
}

}  // namespace tape::train
