#include "train/labelled_lines.h"

#include <algorithm>
#include <cmath>

#include "autograd/random.h"
#include "base/error.h"
#include "text/unknown_tokens.h"

namespace tape::train {

text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name) {
  if (!(fraction > 0 && fraction < 1))
    raise(ErrorKind::config, "{}: valid_fraction must be between 0 and 1, got {}", name, fraction);
  std::vector<std::vector<size_t>> of_label(corpus.label_names.size());
  for (size_t i = 0; i < corpus.sentences.size(); ++i) of_label[static_cast<size_t>(corpus.labels[i])].push_back(i);
  std::vector<bool> taken(corpus.sentences.size(), false);
  Generator draws(seed);
  for (std::vector<size_t>& places : of_label) {
    const auto count = static_cast<int64_t>(std::llround(static_cast<double>(places.size()) * fraction));
    for (int64_t i = 0; i < std::min(count, std::ssize(places) - 1); ++i) {
      const int64_t other = i + draws.below(std::ssize(places) - i);
      std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(other)]);
      taken[places[static_cast<size_t>(i)]] = true;
    }
  }
  text::LabelledCorpus left, part;
  left.label_names = part.label_names = corpus.label_names;
  for (size_t i = 0; i < taken.size(); ++i) {
    text::LabelledCorpus& to = taken[i] ? part : left;
    to.sentences.push_back(std::move(corpus.sentences[i]));
    to.labels.push_back(corpus.labels[i]);
    to.line.push_back(corpus.line[i]);
  }
  if (part.sentences.empty())
    raise(ErrorKind::config, "{}: too few lines to keep a fraction of {} for validation: {}", name, fraction,
          taken.size());
  corpus = std::move(left);
  return part;
}

LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length) {
  LabelledIds lines;
  lines.labels = corpus.labels;
  text::UnknownTokens unknown;
  for (const std::string& sentence : corpus.sentences) {
    text::Encoding encoding = tokenizer.encode(sentence);
    unknown.add(tokenizer, encoding, sentence);
    std::vector<int64_t> ids = std::move(encoding.ids);
    if (std::ssize(ids) > max_length) {
      ids = tokenizer.encode(sentence, {.max_length = max_length}).ids;
      ++lines.cut;
    }
    lines.lengths.push_back({.source = std::ssize(ids)});
    lines.ids.push_back(std::move(ids));
  }
  lines.unknown = unknown.note();
  return lines;
}

LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id) {
  LabelledBatch batch;
  batch.rows = std::ssize(which);
  batch.length = 1;
  for (const int64_t place : which)
    batch.length = std::max(batch.length, lines.lengths[static_cast<size_t>(place)].source);
  batch.ids.assign(static_cast<size_t>(batch.rows * batch.length), padding_id);
  batch.seen.assign(batch.ids.size(), 0);
  auto at = int64_t{0};
  for (const int64_t place : which) {
    const std::vector<int64_t>& ids = lines.ids[static_cast<size_t>(place)];
    std::copy(ids.begin(), ids.end(), batch.ids.begin() + at);
    std::fill_n(batch.seen.begin() + at, std::ssize(ids), 1);
    batch.labels.push_back(lines.labels[static_cast<size_t>(place)]);
    at += batch.length;
  }
  return batch;
}

}  // namespace tape::train
