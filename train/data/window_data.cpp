#include "train/data/window_data.h"

#include <algorithm>

#include "base/error.h"
#include "text/corpus/batch_plan.h"

namespace tape::train {
namespace {

LanguageBatch windows_of(const StoredTokens& text, const std::vector<int64_t>& starts, int64_t length) {
  LanguageBatch batch{.rows = std::ssize(starts), .length = length, .learned = std::ssize(starts) * length};
  for (const int64_t start : starts) {
    const std::vector<int64_t> ids = text.read(start, length + 1);
    batch.in.insert(batch.in.end(), ids.begin(), ids.end() - 1);
    batch.out.insert(batch.out.end(), ids.begin() + 1, ids.end());
  }
  return batch;
}

}  // namespace

WindowData::WindowData(TokenStore store, const LanguageDataOptions& options)
    : store_(std::move(store)),
      options_(options),
      valid_windows_(text::count_sequential_windows(store_.valid.size(), options.context)) {
  if (valid_windows_ == 0) raise(ErrorKind::config, "train lm: the validation text has fewer than 2 tokens");
}

EpochPlan WindowData::plan(int64_t epoch) const {
  text::ShuffledBatches batches =
      text::plan_windows(store_.train.size(), options_.context, options_.batch, options_.seed, epoch);
  const int64_t count = batches.size();
  return {count, [batches = std::move(batches)](int64_t batch) { return batches[batch]; }};
}

LanguageBatch WindowData::training_batch(const std::vector<int64_t>& starts) const {
  return windows_of(store_.train, starts, options_.context);
}

/// Windows that are evaluated together.
int64_t WindowData::valid_rows() const { return std::max<int64_t>(options_.batch, 4096 / options_.context); }

/// The windows of full length, and the last one separately if it is shorter.
int64_t WindowData::valid_batches() const {
  const int64_t whole = (store_.valid.size() - 1) / options_.context, rows = valid_rows();
  return (whole + rows - 1) / rows + (valid_windows_ > whole ? 1 : 0);
}

LanguageBatch WindowData::valid_batch(int64_t number) const {
  const int64_t tokens = store_.valid.size(), whole = (tokens - 1) / options_.context, rows = valid_rows();
  const int64_t first = std::min(number * rows, whole),
                end = first == whole ? first + 1 : std::min(first + rows, whole);
  std::vector<int64_t> starts;
  for (int64_t i = first; i < end; ++i) starts.push_back(text::sequential_window(tokens, options_.context, i).start);
  return windows_of(store_.valid, starts, text::sequential_window(tokens, options_.context, first).length);
}

LanguagePrompt WindowData::prompt(int64_t tokens, int64_t rest) const {
  const int64_t all = store_.valid.size(), begin = std::min({all - 1, options_.context, tokens});
  return {store_.valid.read(0, begin), store_.valid.read(begin, std::min(all - begin, rest))};
}

}  // namespace tape::train
