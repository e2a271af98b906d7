#include "train/labelled_lines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/random.h"
#include "base/error.h"
#include "text/byte_level_bpe.h"
#include "text/train_byte_level_bpe.h"

namespace tape::train {

std::unique_ptr<text::Tokenizer> learn_tokenizer(const std::vector<std::string>& sentences, int64_t vocab_size) {
  const std::string end = "<|endoftext|>", pad = "<|pad|>";
  const auto learned = text::train_byte_level_bpe(sentences, {.vocab_size = vocab_size, .special_tokens = {end, pad}});
  std::vector<int64_t> ids(static_cast<size_t>(learned->vocab_size()));
  std::iota(ids.begin(), ids.end(), 0);
  return std::make_unique<text::ByteLevelBpe>(
      learned->tokens(ids), learned->merges(),
      text::ByteLevelBpeOptions{.bos = end, .eos = end, .unk = end, .pad = pad});
}

std::vector<bool> draw_part(std::vector<std::vector<size_t>> groups, size_t all, double fraction, uint64_t seed,
                            const std::string& name) {
  if (!(fraction > 0 && fraction < 1))
    raise(ErrorKind::config, "{}: valid_fraction must be between 0 and 1, got {}", name, fraction);
  std::vector<bool> taken(all, false);
  bool any = false;
  Generator draws(seed);
  for (std::vector<size_t>& places : groups) {
    const auto count = static_cast<int64_t>(std::llround(static_cast<double>(places.size()) * fraction));
    for (int64_t i = 0; i < std::min(count, std::ssize(places) - 1); ++i) {
      const int64_t other = i + draws.below(std::ssize(places) - i);
      std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(other)]);
      taken[places[static_cast<size_t>(i)]] = any = true;
    }
  }
  if (!any)
    raise(ErrorKind::config, "{}: too few examples to keep a fraction of {} for validation: {}", name, fraction, all);
  return taken;
}

text::LabelledCorpus take_part(text::LabelledCorpus& corpus, double fraction, uint64_t seed, const std::string& name) {
  std::vector<std::vector<size_t>> of_label(corpus.label_names.size());
  for (size_t i = 0; i < corpus.sentences.size(); ++i) of_label[static_cast<size_t>(corpus.labels[i])].push_back(i);
  const std::vector<bool> taken = draw_part(std::move(of_label), corpus.sentences.size(), fraction, seed, name);
  text::LabelledCorpus left, part;
  left.label_names = part.label_names = corpus.label_names;
  for (size_t i = 0; i < taken.size(); ++i) {
    text::LabelledCorpus& to = taken[i] ? part : left;
    to.sentences.push_back(std::move(corpus.sentences[i]));
    to.labels.push_back(corpus.labels[i]);
    to.line.push_back(corpus.line[i]);
  }
  corpus = std::move(left);
  return part;
}

text::Encoding EncoderTokens::encode(const text::Tokenizer& tokenizer, const std::string& sentence,
                                     int64_t max_length) {
  text::Encoding encoding = tokenizer.encode(sentence);
  unknown_.add(tokenizer, encoding, sentence);
  if (std::ssize(encoding.ids) <= max_length) return encoding;
  ++cut_;
  return tokenizer.encode(sentence, {.max_length = max_length});
}

std::vector<std::string> EncoderTokens::notes(const std::string& name, size_t examples, int64_t max_length,
                                              const char* kind) const {
  std::vector<std::string> notes;
  if (cut_ > 0)
    notes.push_back(fmt::format("{}: {} of {} {} cut to {} tokens", name, cut_, examples, kind, max_length));
  if (const std::string unknown = unknown_.note(); !unknown.empty())
    notes.push_back(fmt::format("{}: {}", name, unknown));
  return notes;
}

LabelledIds encode_labelled(const text::LabelledCorpus& corpus, const text::Tokenizer& tokenizer, int64_t max_length) {
  LabelledIds lines;
  lines.labels = corpus.labels;
  for (const std::string& sentence : corpus.sentences) {
    lines.ids.push_back(lines.tokens.encode(tokenizer, sentence, max_length).ids);
    lines.lengths.push_back({.source = std::ssize(lines.ids.back())});
  }
  return lines;
}

LabelledBatch collate_ids(std::span<const std::span<const int64_t>> rows, int64_t padding_id) {
  LabelledBatch batch;
  batch.rows = std::ssize(rows);
  batch.length = 1;
  for (const std::span<const int64_t> row : rows) batch.length = std::max(batch.length, std::ssize(row));
  batch.ids.assign(static_cast<size_t>(batch.rows * batch.length), padding_id);
  batch.seen.assign(batch.ids.size(), 0);
  auto at = int64_t{0};
  for (const std::span<const int64_t> row : rows) {
    std::copy(row.begin(), row.end(), batch.ids.begin() + at);
    std::fill_n(batch.seen.begin() + at, std::ssize(row), 1);
    at += batch.length;
  }
  return batch;
}

LabelledBatch collate_labelled(const LabelledIds& lines, const std::vector<int64_t>& which, int64_t padding_id) {
  std::vector<std::span<const int64_t>> rows;
  for (const int64_t place : which) rows.emplace_back(lines.ids[static_cast<size_t>(place)]);
  LabelledBatch batch = collate_ids(rows, padding_id);
  for (const int64_t place : which) batch.labels.push_back(lines.labels[static_cast<size_t>(place)]);
  return batch;
}

}  // namespace tape::train
