#include "models/decoding/generation_batch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/kernel_call.h"
#include "models/decoding/device_tokens.h"

namespace tape::models {

std::vector<int64_t> repeating_tokens(std::span<const int64_t> generated, int64_t n) {
  std::vector<int64_t> found;
  if (n < 1 || std::ssize(generated) < n) return found;
  const std::span<const int64_t> last = generated.last(static_cast<size_t>(n - 1));
  for (size_t at = 0; at + last.size() < generated.size(); ++at)
    if (std::ranges::equal(generated.subspan(at, last.size()), last)) found.push_back(generated[at + last.size()]);
  return found;
}

GenerationBatch::GenerationBatch(const GenerateOptions& options, int64_t vocab, std::vector<int64_t> stop_ids,
                                 const SearchDefaults& own)
    : options_(options),
      stop_ids_(options.stop_ids.value_or(std::move(stop_ids))),
      no_repeat_ngram_(options.no_repeat_ngram.value_or(own.no_repeat_ngram)),
      min_new_tokens_(options.min_new_tokens.value_or(std::min(own.min_length, options.max_new_tokens))) {
  check(options.sampling);
  if (options.max_new_tokens < 0)
    raise(ErrorKind::config, "generate: max_new_tokens must be at least 0, got {}", options.max_new_tokens);
  if (min_new_tokens_ < 0 || min_new_tokens_ > options.max_new_tokens)
    raise(ErrorKind::config, "generate: min_new_tokens must be from 0 to max_new_tokens, got {} (max_new_tokens {})",
          min_new_tokens_, options.max_new_tokens);
  if (no_repeat_ngram_ < 0)
    raise(ErrorKind::config, "generate: no_repeat_ngram must be at least 0 (0: none), got {}", no_repeat_ngram_);
  if (options.vocabulary < 0 || options.vocabulary > vocab)
    raise(ErrorKind::config, "generate: vocabulary must be from 0 to the model's {}, got {}", vocab,
          options.vocabulary);
  seed_ = options.seed ? *options.seed
                       : static_cast<uint64_t>(generator(Stream::sampling).below(std::numeric_limits<int64_t>::max()));
}

void GenerationBatch::add(std::vector<int64_t> before) {
  rows_.push_back({.ids = std::move(before), .draws = Generator(seed_ + rows_.size())});
  found_.emplace_back();
}

std::vector<size_t> GenerationBatch::running(const std::function<bool(size_t)>& condition) const {
  std::vector<size_t> found;
  for (size_t row = 0; row < rows_.size(); ++row)
    if (!rows_[row].ended && (!condition || condition(row))) found.push_back(row);
  return found;
}

void GenerationBatch::append_next(const std::vector<size_t>& which, const Tensor& logits,
                                  const std::function<bool(size_t)>& condition) {
  std::vector<size_t> places;
  for (size_t place = 0; place < which.size(); ++place)
    if (!condition || condition(which[place])) places.push_back(place);
  if (reading_waits(logits.device())) return append_chosen_on_device(which, places, logits);
  const auto vocabulary = static_cast<size_t>(logits.size(1));
  const Tensor values = is_f32_or_f64(logits.dtype()) ? logits : cast(logits, f32);
  std::vector<int64_t> tokens(places.size());
  run_kernels("generate", values.device(), [&](const KernelCall& at_host) {
    dispatch_floating("generate", values.dtype(), [&](auto zero) {
      const auto* const scores = at_host.in<decltype(zero)>(values);
      kernels::run_tasks(std::ssize(places), [&](int64_t task) {
        const size_t at = static_cast<size_t>(task), place = places[at];
        const auto* const row = scores + place * vocabulary;
        tokens[at] = choose(which[place], std::vector<double>(row, row + vocabulary));
      });
    });
  });
  for (size_t i = 0; i < places.size(); ++i) append_next(which[places[i]], tokens[i]);
}

void GenerationBatch::append_chosen_on_device(const std::vector<size_t>& which, const std::vector<size_t>& places,
                                              const Tensor& logits) {
  if (places.empty()) return;
  std::vector<size_t> rows;
  std::vector<int64_t> index;
  for (const size_t place : places) {
    rows.push_back(which[place]);
    index.push_back(static_cast<int64_t>(place));
  }
  DeviceTokens tokens(*this, std::move(rows), 0);
  tokens.choose(places.size() == which.size() ? logits : index_select(logits, 0, from_vector(index)));
  tokens.deliver(0);
}

bool GenerationBatch::allows_any() const {
  return options_.sampling.repetition_penalty == 1 && no_repeat_ngram_ == 0 && min_new_tokens_ == 0;
}

bool GenerationBatch::is_greedy() const { return options_.sampling.temperature == 0 && allows_any(); }

int64_t GenerationBatch::top_k(size_t rows) const {
  return rows == 1 && options_.sampling.temperature > 0 && allows_any() ? options_.sampling.top_k : 0;
}

void GenerationBatch::append_next(const std::vector<size_t>& which, const TopK& best,
                                  const std::function<bool(size_t)>& condition) {
  const std::vector<double> scores = cast(best.values, f64).to_vector<double>();
  const std::vector<int64_t> tokens = best.indices.to_vector<int64_t>();
  for (size_t place = 0; place < which.size(); ++place) {
    if (condition && !condition(which[place])) continue;
    if (!std::isfinite(scores[place]))
      raise(ErrorKind::numeric, "generate: the highest score, of token {}, is {}", tokens[place], scores[place]);
    append_next(which[place], tokens[place]);
  }
}

void GenerationBatch::hide(size_t row, std::vector<double>& scores) const {
  const auto never = [&scores](const std::vector<int64_t>& ids) {
    for (const int64_t id : ids)
      if (id >= 0 && id < std::ssize(scores)) scores[static_cast<size_t>(id)] = -INFINITY;
  };
  if (options_.vocabulary > 0)
    for (size_t id = static_cast<size_t>(options_.vocabulary); id < scores.size(); ++id) scores[id] = -INFINITY;
  never(repeating_tokens(rows_[row].ids, no_repeat_ngram_));
  if (std::ssize(found_[row].tokens) < min_new_tokens_) never(stop_ids_);
}

int64_t GenerationBatch::choose(size_t row, std::vector<double> scores) {
  hide(row, scores);
  return next_token(std::move(scores), rows_[row].ids, options_.sampling, rows_[row].draws);
}

void GenerationBatch::append_next(size_t row, int64_t token) {
  if (std::find(stop_ids_.begin(), stop_ids_.end(), token) != stop_ids_.end()) {
    found_[row].stopped = true;
    return end(row);
  }
  rows_[row].ids.push_back(token);
  found_[row].tokens.push_back(token);
  if (options_.on_token) options_.on_token(static_cast<int64_t>(row), token);
}

void GenerationBatch::end(size_t row) {
  rows_[row].ended = true;
  if (options_.on_token) options_.on_token(static_cast<int64_t>(row), std::nullopt);
}

std::vector<Continuation> GenerationBatch::finish() {
  for (const size_t row : running()) end(row);
  return std::move(found_);
}

}  // namespace tape::models
