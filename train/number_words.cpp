#include "train/number_words.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <ostream>

#include "autograd/create.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"
#include "autograd/random.h"
#include "base/check.h"
#include "models/folder.h"
#include "models/greedy.h"
#include "optim/adam.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "text/batch.h"
#include "text/number_words.h"
#include "train/progress.h"

namespace tape::train {
namespace {

using text::Vocabulary;

/// The 2 + 2 layers of width 128 that learn the task in well under a minute.
models::TransformerConfig small_model(const Vocabulary& german, const Vocabulary& english) {
  return {.src_vocab = german.size(),
          .tgt_vocab = english.size(),
          .d_model = 128,
          .layers = 2,
          .heads = 4,
          .d_ff = 512,
          .dropout = 0,
          .norm = nn::NormPlace::pre,
          .max_length = 64,
          .padding_id = Vocabulary::pad};
}

NumberWordsModel make_model() {
  NumberWordsModel task{Vocabulary(text::german_tokens()), Vocabulary(text::english_tokens()), nullptr};
  task.model = std::make_unique<models::Transformer>(small_model(task.german, task.english));
  return task;
}

struct Batch {
  Tensor src, tgt_in, tgt_out;
  int64_t tokens = 0;  // without padding
};

Batch make_batch(const NumberWordsModel& task, text::NumberSampler& sampler, int64_t size) {
  std::vector<std::vector<int64_t>> sources, targets;
  Batch batch;
  for (int64_t i = 0; i < size; ++i) {
    const int64_t number = sampler.next();
    sources.push_back(task.encode(text::german_number(number)));
    targets.push_back(task.english.encode(text::split_english(text::english_number(number))));
    batch.tokens += std::ssize(sources.back()) + std::ssize(targets.back()) + 1;
  }
  const text::PaddedBatch padded = text::pad_batch(sources, targets);
  batch.src = from_vector(padded.src, {padded.batch, padded.src_length});
  batch.tgt_in = from_vector(padded.tgt_in, {padded.batch, padded.tgt_length});
  batch.tgt_out = from_vector(padded.tgt_out, {padded.batch, padded.tgt_length});
  return batch;
}

int64_t count_exact(NumberWordsModel& task, const std::vector<int64_t>& numbers) {
  std::vector<std::string> words;
  for (int64_t number : numbers) words.push_back(text::german_number(number));
  const std::vector<std::string> translations = task.translate(words);
  int64_t exact = 0;
  for (size_t i = 0; i < numbers.size(); ++i) exact += translations[i] == text::english_number(numbers[i]);
  return exact;
}

void check(const NumberWordsOptions& o) {
  check_at_least_one("number words", {{"steps", o.steps}, {"batch", o.batch}, {"held_out", o.held_out}});
  if (!(o.lr >= 0 && std::isfinite(o.lr)))
    raise(ErrorKind::config, "number words: lr must be a number >= 0, got {}", o.lr);
  if (!(o.seconds >= 0)) raise(ErrorKind::config, "number words: seconds must not be negative, got {}", o.seconds);
}

/// The training loop itself.
class Run {
 public:
  Run(NumberWordsModel& task, const NumberWordsOptions& options, std::ostream& out, const TerminalInfo& terminal)
      : task_(task),
        options_(options),
        steps_(options.steps),
        out_(out),
        progress_(out, options.steps, terminal),
        sampler_(text::Split::train, options.seed),
        adam_(task.model->parameters(), {.lr = options.lr, .betas = {0.9, 0.98}, .eps = 1e-9}) {
    plan_rate(0);
  }

  NumberWordsResult train() {
    const std::vector<int64_t> watched = text::held_out_sample(100, options_.seed + 1);
    const double began = steady_seconds();
    int64_t tokens = 0;
    for (int64_t step = 1; step <= steps_; ++step) {
      const Batch batch = make_batch(task_, sampler_, options_.batch);
      tokens += batch.tokens;
      const double rate = adam_.lr();
      result_.loss = learn(batch);
      progress_.update({.step = step,
                        .loss = result_.loss,
                        .learning_rate = rate,
                        .tokens = batch.tokens,
                        .extras = {{"exact", accuracy_}}});
      result_.steps = step;
      if (options_.interrupted && options_.interrupted()) {
        progress_.line("interrupted: the model is saved as it is");
        break;
      }
      if (step % kPaceSteps == 0) fit_to_time(step, steady_seconds() - began);
      if (step % std::max<int64_t>(steps_ / 8, 1) == 0 || step == steps_) watch(watched, step);
    }
    progress_.finish();
    result_.train_seconds = steady_seconds() - began;
    result_.tokens_per_second = static_cast<double>(tokens) / result_.train_seconds;
    return result_;
  }

 private:
  static constexpr int64_t kPaceSteps = 40;

  /// Linear warm-up over the first tenth, then linear decay to zero behind the last step.
  void plan_rate(int64_t done) {
    schedule_.emplace(adam_, optim::LinearOptions{
                                 .lr = options_.lr, .warmup = std::max<int64_t>(steps_ / 10, 1), .total = steps_ + 1});
    schedule_->set_last_step(done);
  }

  double learn(const Batch& batch) {
    const Tensor loss = cross_entropy((*task_.model)(batch.src, batch.tgt_in), batch.tgt_out,
                                      {.ignore_index = Vocabulary::pad, .label_smoothing = 0.05});
    adam_.zero_grad();
    loss.backward();
    optim::clip_grad_norm(task_.model->parameters(), 1.0);
    adam_.step();
    schedule_->step();
    return loss.item();
  }

  /// Shortens the run where, at the pace of the steps since the last look, it would take too long.
  void fit_to_time(int64_t step, double elapsed) {
    const double pace = (elapsed - looked_at_) / kPaceSteps;
    looked_at_ = elapsed;
    if (options_.seconds == 0) return;
    const double affordable = std::max(options_.seconds - elapsed, 0.0) / pace;  // beyond int64_t where seconds is huge
    if (affordable >= static_cast<double>(steps_ - step)) return;
    const int64_t fewer = step + std::max(static_cast<int64_t>(affordable), kPaceSteps / 4);
    if (fewer >= steps_) return;
    progress_.line(fmt::format("{:.0f} ms a step: {} steps instead of {}, to stay within {:.0f} s", pace * 1e3, fewer,
                               steps_, options_.seconds));
    steps_ = fewer;
    plan_rate(step);
    progress_.set_total_steps(steps_);
  }

  void watch(const std::vector<int64_t>& numbers, int64_t step) {
    const int64_t exact = count_exact(task_, numbers);
    accuracy_ = fmt::format("{:.0f}%", 100.0 * static_cast<double>(exact) / static_cast<double>(numbers.size()));
    progress_.line(fmt::format("step {:>5}: {} of {} held-out numbers exactly right", step, exact, numbers.size()));
    task_.model->train();
  }

  NumberWordsModel& task_;
  const NumberWordsOptions& options_;
  int64_t steps_;
  std::ostream& out_;
  Progress progress_;
  text::NumberSampler sampler_;
  optim::Adam adam_;
  std::optional<optim::LinearSchedule> schedule_;
  std::string accuracy_ = "-";
  double looked_at_ = 0;  // seconds of training at the last look at the pace
  NumberWordsResult result_;
};

}  // namespace

std::vector<int64_t> NumberWordsModel::encode(const std::string& word) const {
  std::vector<int64_t> ids = german.encode(text::split_german(word));
  ids.push_back(Vocabulary::eos);
  return ids;
}

std::vector<std::string> NumberWordsModel::translate(const std::vector<std::string>& words) {
  constexpr size_t kBatch = 250;
  model->eval();
  std::vector<std::string> translations;
  for (size_t first = 0; first < words.size(); first += kBatch) {
    std::vector<std::vector<int64_t>> sources;
    for (size_t i = first; i < std::min(first + kBatch, words.size()); ++i) sources.push_back(encode(words[i]));
    const std::vector<std::vector<int64_t>> no_targets(sources.size());
    const text::PaddedBatch padded = text::pad_batch(sources, no_targets);
    const Tensor src = from_vector(padded.src, {padded.batch, padded.src_length});
    for (const auto& ids : models::greedy_decode(*model, src, {.max_length = model->config().max_length}))
      translations.push_back(text::join_english(english.decode(ids)));
  }
  return translations;
}

void NumberWordsModel::save(const std::string& folder) const {
  models::save(folder, *model);
  save_vocabularies(folder);
}

void NumberWordsModel::save_vocabularies(const std::string& folder) const {
  german.save(folder + "/src_vocab.txt");
  english.save(folder + "/tgt_vocab.txt");
}

NumberWordsModel NumberWordsModel::load(const std::string& folder) {
  const auto load = [&folder](const char* file, int64_t size, const char* key) {
    Vocabulary vocabulary = Vocabulary::load(folder + file);
    if (vocabulary.size() != size)
      raise(ErrorKind::format, "{}{}: {} tokens, the model needs {} (config.json: {})", folder, file, vocabulary.size(),
            size, key);
    return vocabulary;
  };
  auto model = models::load<models::Transformer>(folder);
  const models::TransformerConfig& config = model->config();
  return {load("/src_vocab.txt", config.src_vocab, "src_vocab_size"),
          load("/tgt_vocab.txt", config.tgt_vocab, "tgt_vocab_size"), std::move(model)};
}

std::vector<int64_t> scored_numbers(int64_t count, uint64_t seed) { return text::held_out_sample(count, seed + 2); }

NumberWordsResult train_number_words(const NumberWordsOptions& options, std::ostream& out,
                                     const TerminalInfo& terminal) {
  check(options);
  manual_seed(options.seed);
  NumberWordsModel task = make_model();
  out << fmt::format("German number words to English: {} + {} layers, width {}, {} parameters\n",
                     task.model->config().layers, task.model->config().layers, task.model->config().d_model,
                     task.model->parameter_count());
  // Before any work is done: a folder that cannot be written should not cost a run, nor a run that is cut short the
  // model of an earlier one.
  if (!std::filesystem::exists(options.out + "/model.safetensors")) task.save(options.out);
  task.save_vocabularies(options.out);
  NumberWordsResult result = Run(task, options, out, terminal).train();
  const std::vector<int64_t> numbers = scored_numbers(options.held_out, options.seed);
  result.held_out = std::ssize(numbers);
  result.exact = count_exact(task, numbers);
  task.save(options.out);
  out << fmt::format(
      "\n{} of {} held-out numbers exactly right ({:.1f}%) after {} steps in {:.1f} s, {:.0f} tokens/s\n", result.exact,
      result.held_out, 100 * result.held_out_exact(), result.steps, result.train_seconds, result.tokens_per_second);
  return result;
}

}  // namespace tape::train
