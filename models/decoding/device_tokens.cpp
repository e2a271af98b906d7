#include "models/decoding/device_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/kernels/random/tokens.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/shape/join.h"

namespace tape::models {
namespace {

constexpr int64_t kMinColumns = 64;

const char* text_of(int64_t bad_score) {
  return bad_score == kernels::kScoreIsNan ? "nan" : bad_score == kernels::kScoreIsInfinite ? "inf" : "-inf";
}

}  // namespace

DeviceTokens::DeviceTokens(GenerationBatch& batch, std::vector<size_t> rows, int64_t filler,
                           const std::vector<int64_t>& never)
    : batch_(batch), rows_(std::move(rows)), filler_(filler), never_(std::ssize(never)) {
  const auto count = std::ssize(rows_);
  std::vector<int64_t> numbers, begin, last, text, ended, hidden = never;
  if (keeps_texts())
    for (const size_t row : rows_) length_ = std::max<int64_t>(length_, std::ssize(batch_.rows_[row].ids));
  for (const size_t row : rows_) {
    const std::vector<int64_t>& ids = batch_.rows_[row].ids;
    numbers.push_back(static_cast<int64_t>(row));
    last.push_back(ids.back());
    ended.push_back(batch_.rows_[row].ended);
    begin.push_back(keeps_texts() ? length_ - std::ssize(ids) : 0);
    text.resize(text.size() + static_cast<size_t>(begin.back()), filler);
    if (keeps_texts()) text.insert(text.end(), ids.begin(), ids.end());
    text.push_back(filler);  // where a choice is written
  }
  hidden.insert(hidden.end(), batch_.stop_ids_.begin(), batch_.stop_ids_.end());
  hidden.push_back(filler);  // not used, but an empty tensor has no memory
  // Rows that run have begun together.
  const auto running = std::find(ended.begin(), ended.end(), 0) - ended.begin();
  if (running < count) {
    const size_t row = rows_[static_cast<size_t>(running)];
    generated_ = std::ssize(batch_.found_[row].tokens);
    draws_ = batch_.rows_[row].draws.counter();
  }
  numbers_ = from_vector(numbers);
  begin_ = from_vector(begin);
  hidden_ = from_vector(hidden);
  text_ = from_vector(text, {count, length_ + 1});
  last_ = from_vector(last, {count, 1});
  ended_ = ne(from_vector(ended), 0);
}

ValueCheck DeviceTokens::check_of_scores(int64_t vocab) const {
  return {ErrorKind::numeric, [vocab, greedy = batch_.is_greedy()](int64_t position, int64_t why) {
            if (greedy)
              return fmt::format("generate: the highest score, of token {}, is {}", position % vocab, text_of(why));
            if (why == kernels::kNoScoreIsFinite) return fmt::format("generate: all {} scores are -inf", vocab);
            return fmt::format("generate: the score of token {} is {}", position % vocab, text_of(why));
          }};
}

bool DeviceTokens::keeps_texts() const {
  return batch_.options_.sampling.repetition_penalty != 1 || batch_.no_repeat_ngram_ > 0;
}

void DeviceTokens::reserve_column() {
  const int64_t columns = text_.size(1);
  if (length_ < columns) return;
  Tensor larger = zeros({text_.size(0), columns + std::max(columns, kMinColumns)}, text_.options());
  put_slice_(larger, 1, 0, text_);
  text_ = larger;
}

void DeviceTokens::choose(const Tensor& scores) {
  reserve_column();
  const Tensor values = is_f32_or_f64(scores.dtype()) ? scores : cast(scores, f32);
  const int64_t vocab = values.size(1), limit = batch_.vocab_limit();
  const auto stops = std::ssize(batch_.stop_ids_);
  const SamplingOptions& o = batch_.options_.sampling;
  const kernels::TokenChoice how{.rows = values.size(0),
                                 .vocab = vocab,
                                 .limit = limit > 0 ? limit : vocab,
                                 .columns = text_.size(1),
                                 .length = length_,
                                 .hidden = never_ + (generated_ < batch_.min_new_tokens_ ? stops : 0),
                                 .stops = stops,
                                 .no_repeat_ngram = batch_.no_repeat_ngram_,
                                 .filler = filler_,
                                 .top_k = o.top_k,
                                 .temperature = o.temperature,
                                 .top_p = o.top_p,
                                 .min_p = o.min_p,
                                 .repetition_penalty = o.repetition_penalty,
                                 .seed = batch_.seed_,
                                 .draw = draws_};
  run_kernels("generate", values.device(), [&](const KernelCall& at) {
    dispatch_floating("generate", values.dtype(), [&]<class T>(T) {
      const auto* const hidden = at.in<int64_t>(hidden_);
      const kernels::TokenRows<T> rows{.scores = at.in<T>(values),
                                       .numbers = at.in<int64_t>(numbers_),
                                       .begin = at.in<int64_t>(begin_),
                                       .hidden = hidden,
                                       .stop_ids = hidden + never_,
                                       .text = at.out<int64_t>(text_),
                                       .next = at.out<int64_t>(last_),
                                       .ended = at.out<bool>(ended_)};
      at.check(check_of_scores(vocab), [&](int64_t number, kernels::Finding* finding) {
        kernels::tokens<T>(at).choose(how, rows, number, finding);
      });
    });
  });
  const auto bytes = last_.numel() * static_cast<int64_t>(sizeof(int64_t));
  steps_.push_back({rows_, device_memory::begin_to_host(last_.device(), last_.device_raw(), bytes)});
  if (keeps_texts()) ++length_;
  ++generated_;
  if (o.temperature > 0) ++draws_;
}

void DeviceTokens::append(const Step& step) {
  const auto* const tokens = static_cast<const int64_t*>(step.tokens->wait());
  for (size_t place = 0; place < step.rows.size(); ++place) {
    GenerationBatch::Row& row = batch_.rows_[step.rows[place]];
    if (row.ended) continue;
    if (tokens[place] == kernels::kNoToken) synchronize(last_.device());  // throws what the check has found
    if (batch_.options_.sampling.temperature > 0) row.draws.advance(1);
    batch_.append_next(step.rows[place], tokens[place]);
  }
}

void DeviceTokens::deliver(int64_t late) {
  for (; std::ssize(steps_) > late; steps_.pop_front()) append(steps_.front());
}

std::optional<std::vector<int64_t>> DeviceTokens::drop_ended() {
  std::vector<int64_t> kept;
  std::vector<size_t> rows;
  for (size_t place = 0; place < rows_.size(); ++place) {
    if (batch_.rows_[rows_[place]].ended) continue;
    kept.push_back(static_cast<int64_t>(place));
    rows.push_back(rows_[place]);
  }
  if (kept.empty() || 4 * (rows_.size() - rows.size()) < rows_.size()) return {};
  const Tensor index = from_vector(kept);
  for (Tensor* of_rows : {&numbers_, &begin_, &text_, &last_, &ended_}) *of_rows = index_select(*of_rows, 0, index);
  rows_ = std::move(rows);
  return kept;
}

void choose_on_device(GenerationBatch& batch, RunningRows& rows, const EncoderDecoder& model, int64_t steps,
                      int64_t late) {
  const EncoderDecoderOptions& m = model.options();
  // Padding must not be generated: later positions would not see it.
  DeviceTokens tokens(batch, {rows.places().begin(), rows.places().end()}, m.eos_id, {m.padding_id});
  for (int64_t step = 0; step < steps && !batch.running().empty(); ++step) {
    // The first token may be padding.
    tokens.choose(rows.logits(step == 0));
    rows.append(tokens.last());
    tokens.deliver(late);
    if (const auto kept = tokens.drop_ended()) rows.keep(*kept);
  }
  tokens.deliver(0);
}

int64_t steps_in_flight(const GenerateOptions& options) { return options.on_token ? 1 : 16; }

}  // namespace tape::models
