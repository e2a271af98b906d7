#include "text/corpus/batch_plan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "autograd/random.h"
#include "base/check.h"
#include "base/error.h"
#include "base/number_text.h"
#include "text/corpus/corpus_file.h"

namespace tape::text {
namespace {

using Examples = std::vector<int64_t>;

int64_t longer(const ExampleLength& length) { return std::max(length.source, length.target); }

/// Random generator for one epoch or step: a range of 2^40 values of the seed's shuffle stream, which is independent of
/// the streams that manual_seed gives to dropout and sampling.
Generator generator_for(const char* name, uint64_t seed, int64_t epoch) {
  if (epoch < 0 || epoch >= int64_t{1} << 24)
    raise(ErrorKind::config, "{}: epoch must be 0 to {}, got {}", name, (int64_t{1} << 24) - 1, epoch);
  Generator draws;
  draws.set_state(seed + (uint64_t{static_cast<uint64_t>(Stream::shuffle)} << 56), static_cast<uint64_t>(epoch) << 40);
  return draws;
}

template <class T>
void shuffle(std::vector<T>& values, Generator& draws) {
  for (size_t i = values.size(); i > 1; --i)
    std::swap(values[i - 1], values[static_cast<size_t>(draws.below(static_cast<int64_t>(i)))]);
}

void check(std::span<const ExampleLength> lengths, const BatchOptions& options) {
  const auto at_least = [](const char* name, int64_t value, int64_t least) {
    if (value < least) raise(ErrorKind::config, "plan_batches: {} must be at least {}, got {}", name, least, value);
  };
  at_least("max_tokens", options.max_tokens, 1);
  at_least("max_sentences", options.max_sentences, 0);
  at_least("max_source_length", options.max_source_length, 0);
  at_least("max_target_length", options.max_target_length, 0);
  at_least("pool", options.pool, 1);
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i].source < 0 || lengths[i].target < 0)
      raise(ErrorKind::index, "plan_batches: example {} has a negative length: source {}, target {}", i,
            lengths[i].source, lengths[i].target);
}

bool fits(const ExampleLength& length, const BatchOptions& options) {
  const auto within = [](int64_t value, int64_t limit) { return limit == 0 || value <= limit; };
  return within(length.source, options.max_source_length) && within(length.target, options.max_target_length) &&
         longer(length) <= options.max_tokens;
}

/// Sorts examples by length and packs them into batches in that order.
void fill(std::span<int64_t> pool, std::span<const ExampleLength> lengths, const BatchOptions& options,
          std::vector<Examples>& batches) {
  const auto of = [&](int64_t example) { return lengths[static_cast<size_t>(example)]; };
  std::ranges::stable_sort(pool, {}, [&](int64_t example) {
    const ExampleLength length = of(example);
    return std::tuple(longer(length), length.target, length.source);
  });
  Examples batch;
  for (const int64_t example : pool) {
    // Lengths ascend, so the newest example is the longest of the batch.
    const auto size = static_cast<int64_t>(batch.size()) + 1;
    const int64_t length = longer(of(example));
    const bool too_many = options.max_sentences > 0 && size > options.max_sentences;
    if (!batch.empty() && (too_many || (length > 0 && size > options.max_tokens / length)))
      batches.push_back(std::exchange(batch, {}));
    batch.push_back(example);
  }
  if (!batch.empty()) batches.push_back(std::move(batch));
}

/// Splits the examples into those that fit, in order, and the plan's skipped ones.
std::pair<BatchPlan, Examples> choose(std::span<const ExampleLength> lengths, const BatchOptions& options) {
  check(lengths, options);
  BatchPlan plan;
  Examples kept;
  for (size_t i = 0; i < lengths.size(); ++i)
    (fits(lengths[i], options) ? kept : plan.skipped).push_back(static_cast<int64_t>(i));
  if (kept.empty() && !lengths.empty())
    raise(ErrorKind::config,
          "plan_batches: all {} examples are longer than a limit: max_tokens {}, max_source_length {}, "
          "max_target_length {} (0: no limit)",
          lengths.size(), options.max_tokens, options.max_source_length, options.max_target_length);
  return {std::move(plan), std::move(kept)};
}

void check_windows(const char* name, int64_t tokens, int64_t context, int64_t batch) {
  check_at_least_one(name, {{"context", context}, {"batch", batch}});
  if (tokens <= context)
    raise(ErrorKind::config, "{}: a text of {} tokens is too short for a window of {} plus one token", name, tokens,
          context);
}

}  // namespace

BatchPlan plan_batches(std::span<const ExampleLength> lengths, const BatchOptions& options, uint64_t seed,
                       int64_t epoch) {
  auto [plan, kept] = choose(lengths, options);
  Generator draws = generator_for("plan_batches", seed, epoch);
  shuffle(kept, draws);
  const auto count = static_cast<int64_t>(kept.size());
  const int64_t pools = (count + options.pool - 1) / options.pool;
  for (int64_t i = 0; i < pools; ++i) {
    const auto begin = static_cast<size_t>(count * i / pools), end = static_cast<size_t>(count * (i + 1) / pools);
    fill(std::span(kept).subspan(begin, end - begin), lengths, options, plan.batches);
  }
  shuffle(plan.batches, draws);
  return std::move(plan);
}

BatchPlan plan_sorted_batches(std::span<const ExampleLength> lengths, const BatchOptions& options) {
  auto [plan, kept] = choose(lengths, options);
  fill(kept, lengths, options, plan.batches);
  return std::move(plan);
}

std::string skipped_note(const BatchPlan& plan, std::span<const ExampleLength> lengths, const std::string& name) {
  if (plan.skipped.empty()) return "";
  int64_t longest = 0;
  for (const int64_t example : plan.skipped) longest = std::max(longest, longer(lengths[static_cast<size_t>(example)]));
  return fmt::format("{}: {} of {} examples skipped: too long, the longest has {} tokens", name,
                     grouped(static_cast<int64_t>(plan.skipped.size())), grouped(static_cast<int64_t>(lengths.size())),
                     grouped(longest));
}

ShuffledBatches::ShuffledBatches(int64_t examples, int64_t batch, const Generator& draws, Places places)
    : examples_(examples), batch_(batch), draws_(draws), places_(places) {
  check_at_least_one("plan_shuffled", {{"batch", batch}});
  constexpr int64_t kPool = 1 << 20;
  pool_size_ = std::max(kPool / batch, int64_t{1}) * batch;  // a multiple, so that no batch spans two pools
  if (examples <= pool_size_) return;
  // A stride coprime to the number of examples visits each of them once, and spreads every pool over the whole data.
  stride_ = static_cast<int64_t>(static_cast<double>(examples) * 0.618);
  while (std::gcd(stride_, examples) != 1) ++stride_;
}

int64_t ShuffledBatches::size() const { return examples_ / batch_ + (examples_ % batch_ > 0 ? 1 : 0); }

/// Position of the pool's first example in the stride order.
int64_t ShuffledBatches::pool_start(int64_t pool) const { return std::min(pool * pool_size_, examples_); }

/// Each pool has its own range of 2^24 random values.
void ShuffledBatches::shuffle_pool(int64_t pool) const {
  order_.clear();
  for (int64_t i = pool_start(pool); i < pool_start(pool + 1); ++i)
    order_.push_back(static_cast<int64_t>(static_cast<unsigned __int128>(i) * static_cast<uint64_t>(stride_) %
                                          static_cast<uint64_t>(examples_)));
  Generator draws = draws_;
  draws.set_state(draws.seed(), draws.counter() + (static_cast<uint64_t>(pool) << 24));
  shuffle(order_, draws);
  shuffled_ = pool;
}

std::vector<int64_t> ShuffledBatches::operator[](int64_t batch) const {
  TAPE_ASSERT(batch >= 0 && batch < size());
  const int64_t first = batch * batch_, pool = first / pool_size_;
  if (pool != shuffled_) shuffle_pool(pool);
  const int64_t begin = first - pool_start(pool), end = std::min<int64_t>(begin + batch_, std::ssize(order_));
  std::vector<int64_t> examples;
  for (int64_t i = begin; i < end; ++i)
    examples.push_back(places_.first + order_[static_cast<size_t>(i)] * places_.step);
  return examples;
}

ShuffledBatches plan_shuffled(int64_t examples, int64_t batch, uint64_t seed, int64_t epoch) {
  return {examples, batch, generator_for("plan_shuffled", seed, epoch), {}};
}

ShuffledBatches plan_windows(int64_t tokens, int64_t context, int64_t batch, uint64_t seed, int64_t epoch) {
  check_windows("plan_windows", tokens, context, batch);
  Generator draws = generator_for("plan_windows", seed, epoch);
  // A different offset each epoch moves the window boundaries, so that every token gets preceding context in some
  // epoch.
  const int64_t first = draws.below(std::min(context, tokens - context));
  return {(tokens - context - first + context - 1) / context, batch, draws, {.first = first, .step = context}};
}

std::vector<int64_t> random_windows(int64_t tokens, int64_t context, int64_t batch, uint64_t seed, int64_t step) {
  check_windows("random_windows", tokens, context, batch);
  if (step < 0) raise(ErrorKind::config, "random_windows: step must be at least 0, got {}", step);
  Generator draws = generator_for("random_windows", seed, 0);
  draws.advance(step * batch);
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < batch; ++i) starts.push_back(draws.below(tokens - context));
  return starts;
}

int64_t count_sequential_windows(int64_t tokens, int64_t context) {
  check_at_least_one("sequential_windows", {{"context", context}});
  return tokens < 2 ? 0 : (tokens - 2) / context + 1;
}

Window sequential_window(int64_t tokens, int64_t context, int64_t number) {
  TAPE_ASSERT(number >= 0 && number < count_sequential_windows(tokens, context));
  return {number * context, std::min(context, tokens - 1 - number * context)};
}

}  // namespace tape::text
