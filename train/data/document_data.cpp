#include "train/data/document_data.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"

namespace tape::train {
namespace {

/// Indices [0, count) in random order.
std::vector<int64_t> shuffled(int64_t count, uint64_t seed) {
  const text::ShuffledBatches order = text::plan_shuffled(count, std::max<int64_t>(count, 1), seed, 0);
  return count == 0 ? std::vector<int64_t>() : order[0];
}

}  // namespace

PackedRows pack_rows(const std::vector<int64_t>& lengths, int64_t context, uint64_t seed) {
  PackedRows rows;
  std::multimap<int64_t, size_t> room;  // free tokens -> row
  for (const int64_t part : shuffled(std::ssize(lengths), seed)) {
    const int64_t length = lengths[static_cast<size_t>(part)];
    const auto found = room.lower_bound(length);
    const int64_t left = (found == room.end() ? context : found->first) - length;
    const size_t row = found == room.end() ? rows.size() : found->second;
    if (found == room.end())
      rows.emplace_back();
    else
      room.erase(found);
    rows[row].push_back(part);
    if (left > 0) room.emplace(left, row);
  }
  return rows;
}

DocumentData::DocumentData(const TokenStore& store, const TextSources& texts, const LanguageDataOptions& options)
    : options_(options), prompts_(texts.prompts) {
  train_ = make_side(store.train, store.train_documents, texts.train.file);
  valid_ = make_side(store.valid, store.valid_documents, texts.valid.file);
  if (options.pack) {
    notes_.push_back(fmt::format("{} packed into {} of {}", counted(std::ssize(train_.parts), "document"),
                                 counted(std::ssize(train_.rows), "row"), counted(options.context, "token")));
    const int64_t rows = std::max<int64_t>(options.batch, 4096 / options.context);
    for (int64_t i = 0; i < std::ssize(valid_.rows); ++i) {
      if (i % rows == 0) valid_.batches.emplace_back();
      valid_.batches.back().push_back(i);
    }
  } else {
    valid_.batches = text::plan_sorted_batches(valid_.lengths, batching(std::max<int64_t>(options.batch, 8))).batches;
  }
}

DocumentData::Side DocumentData::make_side(const StoredTokens& tokens, const std::vector<StoredDocument>& documents,
                                           const std::string& file) {
  Side side{.tokens = tokens};
  int64_t cut = 0, skipped = 0;
  for (const StoredDocument& document : documents) {
    cut += document.end - document.begin - 1 > options_.context ? 1 : 0;
    for (int64_t begin = document.begin; begin + 1 < document.end; begin += options_.context) {
      const int64_t end = std::min(begin + options_.context + 1, document.end);
      const int64_t learned = std::max(document.learned, begin + 1);
      if (learned < end)
        side.parts.push_back({.begin = begin, .end = end, .learned = learned});
      else
        ++skipped;
      if (prompts_) break;  // the rest of a completion is useless without its prompt
    }
  }
  if (cut > 0)
    notes_.push_back(fmt::format("{}: {} of {} cut {} {}", file, grouped(cut),
                                 counted(std::ssize(documents), "document"), prompts_ ? "to" : "into pieces of",
                                 counted(options_.context, "token")));
  if (skipped > 0)
    notes_.push_back(fmt::format("{}: {} of {} skipped: no part of the completion is within {}", file, grouped(skipped),
                                 counted(std::ssize(documents), "document"), counted(options_.context, "token")));
  if (side.parts.empty())
    raise(ErrorKind::config, "{}: every document is too short: training needs at least two tokens in one", file);
  std::vector<int64_t> lengths;
  for (const DocumentPart& part : side.parts) {
    side.lengths.push_back({.source = part.length()});
    lengths.push_back(part.length());
  }
  if (options_.pack) side.rows = pack_rows(lengths, options_.context, options_.seed);
  return side;
}

text::BatchOptions DocumentData::batching(int64_t rows) const {
  return {.max_tokens = rows * options_.context, .max_sentences = rows};
}

EpochPlan DocumentData::plan(int64_t epoch) const {
  if (!options_.pack) return text::plan_batches(train_.lengths, batching(options_.batch), options_.seed, epoch).batches;
  return shuffled_batches(std::ssize(train_.rows), options_.batch, options_.seed)(epoch);
}

/// One part per row, padded at the end. Padding is not attended to and has no loss.
LanguageBatch DocumentData::rows_of(const Side& side, const std::vector<int64_t>& examples) const {
  LanguageBatch batch{.rows = std::ssize(examples)};
  for (const int64_t i : examples) batch.length = std::max(batch.length, side.parts[static_cast<size_t>(i)].length());
  batch.in.assign(static_cast<size_t>(batch.rows * batch.length), 0);
  batch.out.assign(batch.in.size(), LanguageBatch::kIgnoreIndex);
  int64_t row = 0;
  for (const int64_t i : examples) {
    const DocumentPart& part = side.parts[static_cast<size_t>(i)];
    const std::vector<int64_t> ids = side.tokens.read(part.begin, part.end - part.begin);
    const int64_t read = part.learned - part.begin - 1;
    std::copy(ids.begin(), ids.end() - 1, batch.in.begin() + row);
    std::copy(ids.begin() + 1 + read, ids.end(), batch.out.begin() + row + read);
    batch.learned += part.length() - read;
    row += batch.length;
  }
  return batch;
}

/// Rows of `context` tokens with the parts in sequence. The unused rest of a row is a document by itself.
LanguageBatch DocumentData::packed_rows_of(const Side& side, const std::vector<int64_t>& examples) const {
  LanguageBatch batch{.rows = std::ssize(examples), .length = options_.context};
  for (const int64_t row : examples) {
    const size_t end = batch.in.size() + static_cast<size_t>(batch.length);
    int64_t number = 0;
    for (const int64_t i : side.rows[static_cast<size_t>(row)]) {
      const LanguageBatch one = rows_of(side, {i});
      batch.in.insert(batch.in.end(), one.in.begin(), one.in.end());
      batch.out.insert(batch.out.end(), one.out.begin(), one.out.end());
      for (int64_t t = 0; t < one.length; ++t) batch.positions.push_back(t);
      batch.documents.insert(batch.documents.end(), static_cast<size_t>(one.length), number++);
      batch.learned += one.learned;
    }
    batch.in.resize(end, 0);
    batch.out.resize(end, LanguageBatch::kIgnoreIndex);
    batch.positions.resize(end, 0);
    batch.documents.resize(end, number);
  }
  return batch;
}

LanguageBatch DocumentData::batch_of(const Side& side, const std::vector<int64_t>& examples) const {
  return options_.pack ? packed_rows_of(side, examples) : rows_of(side, examples);
}

LanguageBatch DocumentData::training_batch(const std::vector<int64_t>& examples) const {
  return batch_of(train_, examples);
}

LanguageBatch DocumentData::valid_batch(int64_t number) const {
  return batch_of(valid_, valid_.batches[static_cast<size_t>(number)]);
}

LanguagePrompt DocumentData::prompt(int64_t tokens, int64_t rest) const {
  const DocumentPart& first = valid_.parts.front();
  const int64_t begin = prompts_ ? first.learned : first.begin + std::min(first.length(), tokens);
  return {valid_.tokens.read(first.begin, begin - first.begin),
          valid_.tokens.read(begin, std::min(first.end - begin, rest))};
}

std::string DocumentData::prompt_name() const {
  return prompts_ ? "the first validation prompt, completed" : "the beginning of the first validation text, continued";
}

}  // namespace tape::train
