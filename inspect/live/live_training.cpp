#include "inspect/live/live_training.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "models/decoding/target_start.h"
#include "models/encoder_decoders/translator.h"
#include "optim/clip.h"
#include "text/corpus/batch_plan.h"
#include "text/corpus/number_words.h"

namespace tape::inspect {
namespace {

constexpr int64_t kNumbers = 1000;

LivePair live_pair(int64_t number) { return {text::german_number(number), text::english_number(number)}; }

constexpr std::array kPartNames{"forward", "backward", "update"};

}  // namespace

bool LiveTraining::held_out(int64_t number) {
  return number < kNumbers && (text::held_out(number) || text::held_out(kNumbers * kNumbers + number));
}

bool LiveTraining::supports(const text::Tokenizer& tokenizer) {
  constexpr int64_t kMostTokens = 1000;
  const auto knows = [](const text::Tokenizer& of, const std::string& words) {
    const std::vector<int64_t> ids = of.encode(words, {.add_special_tokens = false}).ids;
    return std::ranges::find(ids, of.special().unk) == ids.end() && of.decode(ids) == words;
  };
  if (tokenizer.vocab_size() > kMostTokens || tokenizer.target().vocab_size() > kMostTokens) return false;
  for (int64_t number = 0; number < kNumbers; ++number) {
    const LivePair pair = live_pair(number);
    if (!knows(tokenizer, pair.source) || !knows(tokenizer.target(), pair.target)) return false;
  }
  return true;
}

bool LiveTraining::supports(const nn::Module& model, const text::Tokenizer& tokenizer) {
  return dynamic_cast<const models::Transformer*>(&model) != nullptr && supports(tokenizer);
}

LiveTraining::LiveTraining(models::EncoderDecoder& model, const text::Tokenizer& tokenizer,
                           const LiveTrainingOptions& options)
    : model_(model),
      tokenizer_(tokenizer),
      options_(options),
      adam_(model.trainable_parameters(), {.lr = options.lr, .betas = {0.9, 0.98}, .eps = 1e-9}),
      schedule_(adam_, {.warmup = options.warmup, .total = options.steps, .min_lr = options.lr / 100}) {
  const models::EncoderDecoderOptions& config = model.options();
  special_ = {.pad = config.padding_id, .bos = models::target_start(model, tokenizer).bos, .eos = config.eos_id};
  for (int64_t number = 0; number < kNumbers; ++number) {
    if (held_out(number)) continue;
    pairs_.push_back(live_pair(number));
    ids_.push_back({.source = tokenizer.encode(pairs_.back().source).ids,
                    .target = tokenizer.target().encode(pairs_.back().target).ids});
    std::vector<int64_t>& target = ids_.back().target;
    if (!target.empty() && target.back() == config.eos_id) target.pop_back();
  }
}

text::PaddedBatch LiveTraining::next_batch() {
  if (batches_.empty()) {
    std::vector<text::ExampleLength> lengths;
    for (const Ids& ids : ids_) lengths.push_back({std::ssize(ids.source), std::ssize(ids.target) + 1});
    batches_ = text::plan_batches(lengths, {.max_tokens = options_.batch_tokens}, options_.seed, epoch_++).batches;
  }
  std::vector<std::vector<int64_t>> sources, targets;
  batch_.clear();
  for (const int64_t place : batches_.back()) {
    const auto i = static_cast<size_t>(place);
    batch_.push_back(pairs_[i]);
    sources.push_back(ids_[i].source);
    targets.push_back(ids_[i].target);
  }
  batches_.pop_back();
  return text::pad_batch(sources, targets, special_);
}

void LiveTraining::begin(Part part) {
  if (next_ != part)
    raise(ErrorKind::config, "train_part: \"{}\" was called, but the next part of the update is \"{}\"",
          kPartNames[static_cast<size_t>(part)], kPartNames[static_cast<size_t>(next_)]);
  next_ = static_cast<Part>((static_cast<size_t>(part) + 1) % kPartNames.size());
}

double LiveTraining::forward() {
  begin(Part::forward);
  const text::PaddedBatch b = next_batch();
  model_.train();
  loss_ = model_.loss(from_vector(b.src, {b.batch, b.src_length}), from_vector(b.tgt_in, {b.batch, b.tgt_length}),
                      from_vector(b.tgt_out, {b.batch, b.tgt_length}),
                      {.ignore_index = special_.pad, .label_smoothing = options_.label_smoothing});
  model_.eval();
  return loss_.item();
}

double LiveTraining::backward() {
  begin(Part::backward);
  adam_.zero_grad();
  loss_.backward();
  loss_ = {};
  grad_norm_ = optim::grad_norm(adam_.parameters());
  return grad_norm_;
}

void LiveTraining::update() {
  begin(Part::update);
  lr_ = adam_.lr();
  adam_.step({.gradient_scale = optim::clip_scale(grad_norm_, options_.max_norm), .known_finite = true});
  schedule_.step();
}

double LiveTraining::train() {
  if (next_ == Part::backward) backward();
  if (next_ == Part::update) update();
  const double loss = forward();
  backward();
  update();
  return loss;
}

std::vector<LiveTraining::Sample> LiveTraining::test(int64_t count) const {
  if (count < 1) raise(ErrorKind::config, "test: count must be at least 1, got {}", count);
  std::vector<int64_t> numbers;
  for (int64_t number = 0; number < kNumbers; ++number)
    if (held_out(number)) numbers.push_back(number);
  const int64_t tested = std::min<int64_t>(count, std::ssize(numbers));
  std::vector<Sample> samples;
  std::vector<std::vector<int64_t>> sources;
  for (int64_t i = 0; i < tested; ++i) {  // evenly spaced
    samples.push_back(
        {.pair = live_pair(numbers[static_cast<size_t>(i * std::ssize(numbers) / tested)]), .output = {}});
    sources.push_back(tokenizer_.encode(samples.back().pair.source).ids);
  }
  const NoGrad no_grad;
  const auto greedy = models::translate_options(model_, tokenizer_, {.beams = 1, .scores = false});
  const auto found = models::translate(model_, sources, greedy);
  for (size_t i = 0; i < samples.size(); ++i)
    samples[i].output = found[i].empty() ? "" : tokenizer_.target().decode(found[i][0].tokens);
  return samples;
}

}  // namespace tape::inspect
