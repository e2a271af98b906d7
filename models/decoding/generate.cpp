#include "models/decoding/generate.h"

#include <algorithm>
#include <limits>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/shape/shape.h"
#include "models/decoding/device_tokens.h"
#include "models/decoding/generation_batch.h"
#include "models/decoding/host_ids.h"

namespace tape::models {
namespace {

using TextRows = std::vector<GenerationBatch::Row>;

/// Number of tokens that the model can see at once.
int64_t positions_of(const CausalLM& model) { return model.max_length().value_or(std::numeric_limits<int64_t>::max()); }

/// Rows whose whole text fits into the position table, in one batch with a cache. Shorter texts are padded on the left
/// and masked, so that all continue at the same index of the cache.
class CachedRows {
 public:
  CachedRows(CausalLM& model, const TextRows& rows) : model_(model), rows_(rows), cache_(model.encoder->init_cache()) {
    for (size_t row = 0; row < rows.size(); ++row)
      if (fits(row)) places_.push_back(row);
    for (const size_t row : places_) length_ = std::max<int64_t>(length_, std::ssize(rows[row].ids));
    for (const size_t row : places_) padding_.push_back(length_ - std::ssize(rows[row].ids));
  }

  /// How many steps all running rows can continue with the cache; 0 if one of them does not fit.
  int64_t steps() const {
    int64_t steps = std::numeric_limits<int64_t>::max();
    for (const TextRows::value_type& row : rows_)
      if (!row.ended) steps = std::min(steps, positions_of(model_) - std::ssize(row.ids) + 1);
    return std::max<int64_t>(0, steps);
  }
  bool fits(size_t row) const { return !rows_[row].ended && std::ssize(rows_[row].ids) <= positions_of(model_); }

  /// The row at each batch index. Rows that no longer fit are removed once they are a quarter of all.
  const std::vector<size_t>& places() const { return places_; }

  /// Logits [batch, V] of the next tokens, all of them or with all but the k likeliest at -inf, or the likeliest only;
  /// undefined if no row is left.
  Tensor logits() {
    return next<Tensor>(
        [&](const Tensor& ids, const Tensor& positions) { return model_.next_logits(ids, positions, cache_, mask()); });
  }
  Tensor top_k(int64_t k, int64_t vocab_limit) {
    return next<Tensor>([&](const Tensor& ids, const Tensor& positions) {
      return model_.next_top_k(ids, positions, cache_, k, mask(), vocab_limit);
    });
  }
  /// logits() of places(), after their last tokens [places, 1], which the host may not know yet.
  Tensor logits(const Tensor& last) {
    if (!started_) return logits();
    std::vector<int64_t> positions;
    // Rows that have ended may be beyond the table.
    for (const int64_t padding : padding_) positions.push_back(std::min(length_ - padding, positions_of(model_) - 1));
    ++length_;
    return model_.next_logits(last, host_ids(positions, last.shape()), cache_, mask());
  }
  /// Drops all rows except for those at these batch indices.
  void keep(const std::vector<int64_t>& kept) {
    std::vector<size_t> places;
    std::vector<int64_t> padding;
    for (const int64_t place : kept) {
      places.push_back(places_[static_cast<size_t>(place)]);
      padding.push_back(padding_[static_cast<size_t>(place)]);
    }
    places_ = std::move(places);
    padding_ = std::move(padding);
    const Tensor index = host_ids(kept, {std::ssize(kept)});
    for (nn::KeyValueCache& layer : cache_) layer.select(index);
  }
  TopK likeliest(int64_t vocab_limit) {
    return next<TopK>([&](const Tensor& ids, const Tensor& positions) {
      return model_.next_likeliest(ids, positions, cache_, mask(), vocab_limit);
    });
  }

 private:
  /// Calls said(ids, positions) for the next step.
  template <class Result, class Step>
  Result next(const Step& generated) {
    if (started_) leave();
    const int64_t batch = std::ssize(places_), step = started_ ? 1 : length_;
    if (batch == 0) return {};
    std::vector<int64_t> ids(static_cast<size_t>(batch * step), 0), positions = ids;
    for (int64_t place = 0; place < batch; ++place) {
      const size_t row = places_[static_cast<size_t>(place)];
      if (!fits(row)) continue;  // its output is ignored
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
    return generated(from_vector(ids, {batch, step}), host_ids(positions, {batch, step}));
  }

  /// Hides the padding: [B, 1, 1, length].
  Mask mask() const {
    if (std::all_of(padding_.begin(), padding_.end(), [](int64_t p) { return p == 0; })) return {};
    if (reading_waits(model_.device())) return mask_on_device();
    std::vector<int64_t> seen;
    for (const int64_t p : padding_) {
      seen.insert(seen.end(), static_cast<size_t>(p), 0);
      seen.insert(seen.end(), static_cast<size_t>(length_ - p), 1);
    }
    return Mask::padding(from_vector(seen, {std::ssize(padding_), length_}), 0);
  }

  /// The same by kernels, so that what is copied to the GPU does not grow with the text.
  Mask mask_on_device() const {
    const int64_t batch = std::ssize(padding_);
    const Tensor shown = ge(arange(length_, {i64, model_.device()}), from_vector(padding_, {batch, 1}));
    return Mask::keep(reshape(shown, Shape{batch, 1, 1, length_}));
  }

  void leave() {
    std::vector<int64_t> kept;
    for (size_t place = 0; place < places_.size(); ++place)
      if (fits(places_[place])) kept.push_back(static_cast<int64_t>(place));
    if (kept.empty()) return places_.clear();
    if (4 * (places_.size() - kept.size()) < places_.size()) return;
    keep(kept);
  }

  CausalLM& model_;
  const TextRows& rows_;
  nn::EncoderCache cache_;
  std::vector<size_t> places_;
  std::vector<int64_t> padding_;  // left padding at each batch index
  int64_t length_ = 0;            // of the cache, including padding
  bool started_ = false;
};

/// Logits [rows, V] after the last `length` tokens of each row.
Tensor window_logits(CausalLM& model, const TextRows& rows, const std::vector<size_t>& which, int64_t length) {
  std::vector<int64_t> ids, positions;
  for (const size_t row : which) {
    ids.insert(ids.end(), rows[row].ids.end() - length, rows[row].ids.end());
    for (int64_t t = 0; t < length; ++t) positions.push_back(t);
  }
  nn::EncoderCache cache = model.encoder->init_cache();
  const Shape shape{std::ssize(which), length};
  return model.next_logits(from_vector(ids, shape), host_ids(positions, shape), cache);
}

/// The model's output as scores.
Tensor scores_of(const CausalLM& model, const Tensor& generated) {
  return model.options().output == nn::TokenOutput::probabilities ? log(cast(generated, f64)) : generated;
}

/// Generates on a GPU while all running rows fit into the position table, without waiting for each token. Returns the
/// number of steps, at most `most`.
int64_t generate_on_device(CausalLM& model, GenerationBatch& generated, CachedRows& cached, int64_t most,
                           const GenerateOptions& o) {
  const int64_t steps = std::min(most, cached.steps());
  if (steps == 0) return 0;
  DeviceTokens tokens(generated, cached.places(), 0);
  for (int64_t step = 0; step < steps && !generated.running().empty(); ++step) {
    tokens.choose(scores_of(model, cached.logits(tokens.last())));
    tokens.deliver(steps_in_flight(o));
    if (const auto kept = tokens.drop_ended()) cached.keep(*kept);
  }
  tokens.deliver(0);
  return steps;
}

/// The prompt, or bos_id if it is empty.
std::vector<int64_t> begun(const CausalLM& model, const std::vector<int64_t>& prompt, size_t row) {
  if (prompt.empty()) {
    if (!model.options().bos_id)
      raise(ErrorKind::config, "generate: prompt {} is empty, and the model has no bos_id to begin with", row);
    return {*model.options().bos_id};
  }
  for (size_t t = 0; t < prompt.size(); ++t)
    if (prompt[t] < 0 || prompt[t] >= model.vocab())
      raise(ErrorKind::index, "generate: prompt {} has id {} at position {}, which is not in 0..{}", row, prompt[t], t,
            model.vocab() - 1);
  return prompt;
}

}  // namespace

std::vector<Continuation> generate(CausalLM& model, const std::vector<std::vector<int64_t>>& prompts,
                                   const GenerateOptions& options) {
  const DeviceScope on_model(model.device());
  GenerationBatch generated(options, model.vocab(), model.options().eos_ids, model.search);
  if (options.bos || options.forced_bos || options.forced_eos)
    raise(ErrorKind::config, "generate: bos, forced_bos and forced_eos apply only to encoder-decoder models");
  for (size_t row = 0; row < prompts.size(); ++row) generated.add(begun(model, prompts[row], row));
  const NoGrad no_grad;
  CachedRows cached(model, generated.rows());
  // A model that returns probabilities needs all of them: they may be equal where the scores differ.
  const bool gives_scores = model.options().output == nn::TokenOutput::logits;
  const bool on_device = reading_waits(model.device()) && options.use_cache;
  for (int64_t step = 0; step < options.max_new_tokens && !generated.running().empty(); ++step) {
    if (on_device) step += generate_on_device(model, generated, cached, options.max_new_tokens - step, options);
    if (step == options.max_new_tokens || generated.running().empty()) break;
    if (options.use_cache) {
      // Determined before any row grows: a row that outgrows the table in this step slides from the next one on.
      const std::vector<size_t> sliding = generated.running([&](size_t row) { return !cached.fits(row); });
      const int64_t top_k = gives_scores ? generated.top_k(cached.places().size()) : 0;
      const auto fits = [&](size_t row) { return cached.fits(row); };
      if (generated.is_greedy()) {
        const TopK best = cached.likeliest(generated.vocab_limit());
        if (best.indices.defined()) generated.append_next(cached.places(), best, fits);
      } else if (const Tensor logits = top_k > 0 ? cached.top_k(top_k, generated.vocab_limit()) : cached.logits();
                 logits.defined()) {
        generated.append_next(cached.places(), scores_of(model, logits), fits);
      }
      if (!sliding.empty())
        generated.append_next(sliding,
                              scores_of(model, window_logits(model, generated.rows(), sliding, positions_of(model))));
    } else {
      for (const size_t row : generated.running()) {
        const int64_t length = std::min<int64_t>(std::ssize(generated.rows()[row].ids), positions_of(model));
        generated.append_next({row}, scores_of(model, window_logits(model, generated.rows(), {row}, length)));
      }
    }
  }
  return generated.finish();
}

}  // namespace tape::models
