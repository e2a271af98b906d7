#include "models/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/cast.h"

namespace tape::models {
namespace {

struct Row {
  std::vector<int64_t> ids;  // the prompt and what was said
  size_t prompt = 0;
  Generator draws;
  bool ended = false;
};

/// Tokens that the model can see at once.
int64_t positions_of(const CausalLM& model) { return model.max_length().value_or(std::numeric_limits<int64_t>::max()); }

/// Rows whose whole text fits into the position table, in one batch with a cache. Shorter texts have padding in front,
/// which is hidden, so that all go on at the same place of the cache.
class CachedRows {
 public:
  CachedRows(CausalLM& model, std::vector<Row>& rows)
      : model_(model), rows_(rows), cache_(model.encoder->init_cache()) {
    for (size_t row = 0; row < rows.size(); ++row)
      if (fits(row)) places_.push_back(row);
    for (const size_t row : places_) length_ = std::max(length_, std::ssize(rows[row].ids));
    for (const size_t row : places_) padding_.push_back(length_ - std::ssize(rows[row].ids));
  }

  bool fits(size_t row) const { return !rows_[row].ended && std::ssize(rows_[row].ids) <= positions_of(model_); }

  /// The row at each place of the batch. Some may have left it: they are taken out once they are a quarter of all.
  const std::vector<size_t>& places() const { return places_; }

  /// Logits [places, V] of the next tokens.
  Tensor logits() {
    if (started_) leave();
    const int64_t batch = std::ssize(places_), step = started_ ? 1 : length_;
    if (batch == 0) return {};
    std::vector<int64_t> ids(static_cast<size_t>(batch * step), 0), positions = ids;
    for (int64_t place = 0; place < batch; ++place) {
      const size_t row = places_[static_cast<size_t>(place)];
      if (!fits(row)) continue;  // what is said of it is not read
      const std::vector<int64_t>& text = rows_[row].ids;
      const int64_t from = std::max<int64_t>(0, std::ssize(text) - step), end = (place + 1) * step;
      for (int64_t t = from; t < std::ssize(text); ++t) {
        const auto at = static_cast<size_t>(end - std::ssize(text) + t);
        ids[at] = text[static_cast<size_t>(t)];
        positions[at] = t;
      }
    }
    if (started_) ++length_;
    started_ = true;
    return model_.next_logits(from_vector(ids, {batch, step}), from_vector(positions, {batch, step}), cache_, mask());
  }

 private:
  /// Hides the padding: [B, 1, 1, length].
  Mask mask() const {
    if (std::all_of(padding_.begin(), padding_.end(), [](int64_t p) { return p == 0; })) return {};
    std::vector<int64_t> seen;
    for (const int64_t p : padding_) {
      seen.insert(seen.end(), static_cast<size_t>(p), 0);
      seen.insert(seen.end(), static_cast<size_t>(length_ - p), 1);
    }
    return Mask::padding(from_vector(seen, {std::ssize(padding_), length_}), 0);
  }

  void leave() {
    std::vector<int64_t> kept;
    for (size_t place = 0; place < places_.size(); ++place)
      if (fits(places_[place])) kept.push_back(static_cast<int64_t>(place));
    if (kept.empty()) return places_.clear();
    if (4 * (places_.size() - kept.size()) < places_.size()) return;
    std::vector<size_t> places;
    std::vector<int64_t> padding;
    for (const int64_t place : kept) {
      places.push_back(places_[static_cast<size_t>(place)]);
      padding.push_back(padding_[static_cast<size_t>(place)]);
    }
    places_ = std::move(places);
    padding_ = std::move(padding);
    const Tensor index = from_vector(kept);
    for (nn::KeyValueCache& layer : cache_) layer.select(index);
  }

  CausalLM& model_;
  std::vector<Row>& rows_;
  nn::EncoderCache cache_;
  std::vector<size_t> places_;
  std::vector<int64_t> padding_;  // in front of the text at each place
  int64_t length_ = 0;            // of the cache, padding included
  bool started_ = false;
};

/// Logits [rows, V] behind the last `length` tokens of some rows.
Tensor window_logits(CausalLM& model, const std::vector<Row>& rows, const std::vector<size_t>& which, int64_t length) {
  std::vector<int64_t> ids, positions;
  for (const size_t row : which) {
    ids.insert(ids.end(), rows[row].ids.end() - length, rows[row].ids.end());
    for (int64_t t = 0; t < length; ++t) positions.push_back(t);
  }
  nn::EncoderCache cache = model.encoder->init_cache();
  const Shape shape{std::ssize(which), length};
  return model.next_logits(from_vector(ids, shape), from_vector(positions, shape), cache);
}

/// All rows of one call.
class Generation {
 public:
  Generation(CausalLM& model, const std::vector<std::vector<int64_t>>& prompts, const GenerateOptions& options)
      : model_(model), options_(options) {
    stop_ids_ = options.stop_ids.value_or(model.options().eos_ids);
    const uint64_t seed =
        options.seed ? *options.seed
                     : static_cast<uint64_t>(generator(Stream::sampling).below(std::numeric_limits<int64_t>::max()));
    for (size_t row = 0; row < prompts.size(); ++row) {
      rows_.push_back({.ids = prompts[row], .draws = Generator(seed + row)});
      if (prompts[row].empty()) {
        if (!model.options().bos_id)
          raise(ErrorKind::config, "generate: prompt {} is empty, and the model has no bos_id to begin with", row);
        rows_[row].ids = {*model.options().bos_id};
      }
      rows_[row].prompt = rows_[row].ids.size();
      check_ids(rows_[row].ids, row);
    }
    found_.resize(rows_.size());
  }

  std::vector<Continuation> run() {
    CachedRows cached(model_, rows_);
    for (int64_t step = 0; step < options_.max_new_tokens; ++step) {
      if (options_.use_cache) {
        const Tensor logits = cached.logits();
        // Before any row grows: one that grows out of the table in this step slides from the next on.
        const std::vector<size_t> sliding = running([&](size_t row) { return !cached.fits(row); });
        if (logits.defined()) say(cached.places(), logits, [&](size_t row) { return cached.fits(row); });
        if (!sliding.empty()) say(sliding, window_logits(model_, rows_, sliding, positions_of(model_)));
      } else {
        for (const size_t row : running([](size_t) { return true; })) {
          const int64_t length = std::min(std::ssize(rows_[row].ids), positions_of(model_));
          say({row}, window_logits(model_, rows_, {row}, length));
        }
      }
      if (running([](size_t) { return true; }).empty()) break;
    }
    for (const size_t row : running([](size_t) { return true; })) end(row);
    return std::move(found_);
  }

 private:
  void check_ids(const std::vector<int64_t>& ids, size_t row) const {
    for (size_t t = 0; t < ids.size(); ++t)
      if (ids[t] < 0 || ids[t] >= model_.vocab())
        raise(ErrorKind::index, "generate: prompt {} has id {} at position {}, which is not in 0..{}", row, ids[t], t,
              model_.vocab() - 1);
  }

  template <class Condition>
  std::vector<size_t> running(Condition&& condition) const {
    std::vector<size_t> found;
    for (size_t row = 0; row < rows_.size(); ++row)
      if (!rows_[row].ended && condition(row)) found.push_back(row);
    return found;
  }

  void say(const std::vector<size_t>& which, const Tensor& logits) {
    say(which, logits, [](size_t) { return true; });
  }
  template <class Condition>
  void say(const std::vector<size_t>& which, const Tensor& logits, Condition&& condition) {
    const int64_t vocabulary = logits.size(1);
    const std::vector<double> all = cast(logits, f64).to_vector<double>();
    for (size_t place = 0; place < which.size(); ++place) {
      if (!condition(which[place])) continue;
      const auto first = all.begin() + static_cast<int64_t>(place) * vocabulary;
      say(which[place], std::vector<double>(first, first + vocabulary));
    }
  }

  void say(size_t row, std::vector<double> scores) {
    if (model_.options().output == nn::TokenOutput::probabilities)
      for (double& p : scores) p = std::log(p);
    if (options_.vocabulary > 0)
      for (size_t id = static_cast<size_t>(options_.vocabulary); id < scores.size(); ++id) scores[id] = -INFINITY;
    Row& r = rows_[row];
    const std::vector<double> p = token_probabilities(std::move(scores), r.ids, options_.sampling);
    const int64_t token = draw(p, r.draws);
    if (std::find(stop_ids_.begin(), stop_ids_.end(), token) != stop_ids_.end()) {
      found_[row].stopped = true;
      return end(row);
    }
    r.ids.push_back(token);
    found_[row].tokens.push_back(token);
    if (options_.on_token) options_.on_token(static_cast<int64_t>(row), token);
  }

  void end(size_t row) {
    rows_[row].ended = true;
    if (options_.on_token) options_.on_token(static_cast<int64_t>(row), std::nullopt);
  }

  CausalLM& model_;
  const GenerateOptions& options_;
  std::vector<int64_t> stop_ids_;
  std::vector<Row> rows_;
  std::vector<Continuation> found_;
};

}  // namespace

std::vector<Continuation> generate(CausalLM& model, const std::vector<std::vector<int64_t>>& prompts,
                                   const GenerateOptions& options) {
  check(options.sampling);
  if (options.max_new_tokens < 0)
    raise(ErrorKind::config, "generate: max_new_tokens must be at least 0, got {}", options.max_new_tokens);
  if (options.vocabulary < 0 || options.vocabulary > model.vocab())
    raise(ErrorKind::config, "generate: vocabulary must be from 0 to the model's {}, got {}", model.vocab(),
          options.vocabulary);
  const NoGrad no_grad;
  return Generation(model, prompts, options).run();
}

}  // namespace tape::models
