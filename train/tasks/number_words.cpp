#include "train/tasks/number_words.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/random.h"
#include "base/check.h"
#include "base/json.h"
#include "models/decoding/greedy.h"
#include "optim/clip.h"
#include "text/batch.h"
#include "text/number_words.h"
#include "train/checkpoints/checkpoint.h"
#include "train/data/fair_sample.h"
#include "train/runs/progress.h"
#include "train/tasks/task_run.h"

namespace tape::train {
namespace {

using text::NumberWordsTokenizer;
using text::Vocabulary;

constexpr int64_t kBatchesAnEpoch = 100, kEvaluations = 8, kWatched = 100, kFewestSteps = 50;

struct NumberWordsBatch {
  text::PaddedBatch ids;
  int64_t tokens = 0;  // of the targets, the ends included
};

Tensor ids_of(const std::vector<int64_t>& ids, int64_t rows, int64_t length) {
  return from_vector(ids, {rows, length});
}

std::vector<std::string> translated(models::Transformer& model, const NumberWordsTokenizer& tokenizer,
                                    const std::vector<std::string>& words) {
  constexpr size_t kAtOnce = 250;
  std::vector<std::string> translations;
  for (size_t first = 0; first < words.size(); first += kAtOnce) {
    std::vector<std::vector<int64_t>> sources;
    for (size_t i = first; i < std::min(first + kAtOnce, words.size()); ++i)
      sources.push_back(tokenizer.encode(words[i]).ids);
    const text::PaddedBatch padded = text::pad_batch(sources, std::vector<std::vector<int64_t>>(sources.size()));
    const Tensor src = ids_of(padded.src, padded.batch, padded.src_length);
    for (const auto& ids : models::greedy_decode(model, src, {.max_length = model.config().max_length}))
      translations.push_back(tokenizer.target().decode(ids));
  }
  return translations;
}

std::vector<std::string> german(const std::vector<int64_t>& numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (const int64_t number : numbers) words.push_back(text::german_number(number));
  return words;
}

int64_t count_exact(const std::vector<int64_t>& numbers, const std::vector<std::string>& translations) {
  int64_t exact = 0;
  for (size_t i = 0; i < numbers.size(); ++i) exact += translations[i] == text::english_number(numbers[i]);
  return exact;
}

int64_t asked_steps(const TaskOptions& options) { return options.steps.value_or(kNumberWordsRecipe.steps); }

class NumberWordsTask : public TaskRun<NumberWordsBatch, models::Transformer, NumberWordsTokenizer> {
 public:
  NumberWordsTask(const NumberWordsOptions& options, const RunFolder* folder, std::ostream& out, const Recipe& recipe)
      : TaskRun("number words", options.run, out),
        options_(options),
        watched_(text::held_out_sample(kWatched, options.run.seed + 1)) {
    recipe_ = recipe;
    tokenizer_ =
        std::make_unique<NumberWordsTokenizer>(Vocabulary(text::german_tokens()), Vocabulary(text::english_tokens()));
    save_tokenizer(folder);
    manual_seed(options.run.seed);
    model_ = std::make_unique<models::Transformer>(config());
    make_adam({.betas = {0.9, 0.98}, .eps = 1e-9});
    // Down to zero behind the last step.
    schedule_ = std::make_unique<optim::LinearSchedule>(
        *adam_, optim::LinearOptions{.lr = recipe_.lr, .warmup = recipe_.warmup, .total = recipe_.steps + 1});
    loader_ = std::make_unique<Loader<NumberWordsBatch>>(LoaderOptions<NumberWordsBatch>{
        .plan = [this](int64_t epoch) { return plan(epoch); },
        .collate = [this](const std::vector<int64_t>& numbers) { return collate(numbers); }});
  }

  /// Seconds a step, of a few that are then forgotten.
  double pace() {
    constexpr int kUntimed = 3, kTimed = 5;
    double began = 0;
    for (int step = 0; step < kUntimed + kTimed; ++step) {
      if (step == kUntimed) began = steady_seconds();
      const NumberWordsBatch batch = loader_->next();
      adam_->zero_grad();
      training_loss(batch).loss.backward();
      adam_->step({.gradient_scale = optim::clip_scale(optim::grad_norm(model_->parameters()), recipe_.clip_norm)});
    }
    return (steady_seconds() - began) / kTimed;
  }

  void print_model() const {
    const models::TransformerConfig& config = model_->config();
    out_ << fmt::format("German number words to English: {} + {} layers, width {}, {} parameters\n", config.layers,
                        config.layers, config.d_model, model_->parameter_count());
  }

  /// Of the model as it is, which is that of the folder behind train().
  int64_t exact(const std::vector<int64_t>& numbers) {
    model_->eval();
    return count_exact(numbers, translations(german(numbers)));
  }
  ~NumberWordsTask() override { stop_loading(); }

 private:
  /// The 2 + 2 layers of width 128 that learn the task in well under a minute.
  models::TransformerConfig config() const {
    return {.src_vocab = tokenizer_->vocab_size(),
            .tgt_vocab = tokenizer_->target().vocab_size(),
            .d_model = 128,
            .layers = 2,
            .heads = 4,
            .d_ff = 512,
            .dropout = recipe_.dropout,
            .norm = nn::NormPlace::pre,
            .max_length = 64,
            .padding_id = Vocabulary::pad};
  }

  /// Every rank translates its share.
  std::vector<std::string> translations(const std::vector<std::string>& words) {
    return joined_shares(ranks(), translated(*model_, *tokenizer_, share_of(ranks(), words)), words.size());
  }

  /// The numbers of an epoch, drawn anew for each: an example is the number itself.
  std::vector<std::vector<int64_t>> plan(int64_t epoch) const {
    text::NumberSampler sampler(text::Split::train, options_.run.seed + static_cast<uint64_t>(epoch));
    std::vector<std::vector<int64_t>> batches(kBatchesAnEpoch);
    for (std::vector<int64_t>& batch : batches)
      for (int64_t i = 0; i < options_.batch; ++i) batch.push_back(sampler.next());
    return batches;
  }

  NumberWordsBatch collate(const std::vector<int64_t>& numbers) const {
    std::vector<std::vector<int64_t>> sources, targets;
    NumberWordsBatch batch;
    for (const int64_t number : numbers) {
      sources.push_back(tokenizer_->encode(text::german_number(number)).ids);
      targets.push_back(tokenizer_->target().encode(text::english_number(number), {.add_special_tokens = false}).ids);
      batch.tokens += std::ssize(targets.back()) + 1;
    }
    batch.ids = text::pad_batch(sources, targets);
    return batch;
  }

  Tensor loss(const NumberWordsBatch& batch, double label_smoothing) {
    const text::PaddedBatch& b = batch.ids;
    return nn::call_method(*model_, &models::EncoderDecoder::loss, ids_of(b.src, b.batch, b.src_length),
                           ids_of(b.tgt_in, b.batch, b.tgt_length), ids_of(b.tgt_out, b.batch, b.tgt_length),
                           CrossEntropyOptions{.ignore_index = Vocabulary::pad, .label_smoothing = label_smoothing});
  }

  LossScale loss_scale() const override {
    return {.classes = tokenizer_->target().vocab_size(), .label_smoothing = kSmoothing};
  }

  Learned training_loss(const NumberWordsBatch& batch) override { return {loss(batch, kSmoothing), batch.tokens}; }

  Evaluation evaluate() override {
    const std::vector<std::string> sources = german(watched_), said = translations(sources);
    const double part = static_cast<double>(count_exact(watched_, said)) / static_cast<double>(watched_.size());
    const NumberWordsBatch batch = collate(watched_);
    // Judged by what is learned: without smoothing, a model that has learned it better has the larger loss.
    Evaluation evaluation{
        .loss = loss(batch, 0).item(), .metrics = {{"exact", part}}, .score = -loss(batch, kSmoothing).item()};
    const FairSample sample = fair_sample(sources.size(), 8, options_.run.seed, "held-out numbers");
    for (const size_t i : sample.places)
      evaluation.samples.push_back({sources[i], text::english_number(watched_[i]), said[i]});
    evaluation.drawn = sample.drawn;
    return evaluation;
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    json["batch"] = options_.batch;
    json["label_smoothing"] = kSmoothing;
    // The schedule's length: a resume plans the same, whatever its machine's pace.
    if (const int64_t asked = asked_steps(options_.run); asked != recipe_.steps)
      json["planned"] = {{"asked", asked}, {"steps", recipe_.steps}};
  }

  static constexpr double kSmoothing = 0.05;

  const NumberWordsOptions& options_;
  const std::vector<int64_t> watched_;
};

/// Warm-up over the first tenth of the steps, and evaluations every eighth, where the options say nothing else.
Recipe recipe_of(const TaskOptions& options, int64_t steps) {
  Recipe recipe = kNumberWordsRecipe;
  recipe.steps = steps;
  recipe.warmup = std::max<int64_t>(steps / 10, 1);
  recipe.evaluate_every = std::max<int64_t>(steps / kEvaluations, 1);
  TaskOptions given = options;
  given.steps = steps;
  return with_options(recipe, given);
}

void check(const NumberWordsOptions& o) {
  check_at_least_one("number words", {{"batch", o.batch}, {"held_out", o.held_out}});
  if (!(o.budget >= 0)) raise(ErrorKind::config, "number words: the budget must not be negative, got {}", o.budget);
}

/// How many steps the run of a whole checkpoint has planned where so many are asked for; nothing where there is none.
std::optional<int64_t> steps_planned_before(const RunFolder& folder, int64_t asked) {
  const auto checkpoint = folder.resumes() ? newest_whole_folder(folder.path(), folder.checked()) : std::nullopt;
  if (!checkpoint) return std::nullopt;
  const std::string text = load_checkpoint_state(*checkpoint).settings;
  if (text.empty()) return asked;
  const auto settings = parse_json(text, *checkpoint);
  const auto planned = settings.find("planned");
  const auto number = [&](const char* key) {
    const bool there = planned != settings.end() && planned->is_object() && planned->contains(key);
    return there && planned->at(key).is_number_integer() ? planned->at(key).get<int64_t>() : asked;
  };
  return number("asked") == asked ? std::clamp<int64_t>(number("steps"), 1, asked) : asked;
}

/// The steps asked for, or as many as this machine does within the budget; on a resume what the run has planned. Of
/// several ranks rank 0 decides, by its own pace.
int64_t affordable_steps(const NumberWordsOptions& options, const RunFolder& folder, int64_t steps, std::ostream& out) {
  if (const auto planned = steps_planned_before(folder, steps)) return *planned;
  if (options.budget == 0 || steps <= kFewestSteps) return steps;
  NumberWordsOptions alone = options;
  alone.run.ranks = nullptr;
  const double pace = NumberWordsTask(alone, nullptr, out, recipe_of(options.run, steps)).pace();
  const double affordable = options.budget / pace;  // beyond int64_t where the budget is huge
  if (affordable >= static_cast<double>(steps)) return steps;
  const int64_t fewer = std::max(static_cast<int64_t>(affordable), kFewestSteps);
  out << fmt::format("{:.0f} ms a step: {} steps instead of {}, to stay within {:.0f} s\n", pace * 1e3, fewer, steps,
                     options.budget);
  return fewer;
}

}  // namespace

std::vector<std::string> NumberWordsModel::translate(const std::vector<std::string>& words) {
  model->eval();
  return translated(*model, *tokenizer, words);
}

NumberWordsModel NumberWordsModel::load(const std::string& folder) {
  NumberWordsModel loaded{nullptr, models::load<models::Transformer>(folder)};
  loaded.tokenizer = NumberWordsTokenizer::load(folder);
  const models::TransformerConfig& config = loaded.model->config();
  const auto check_size = [&folder](const char* file, int64_t size, int64_t needed, const char* key) {
    if (size != needed)
      raise(ErrorKind::format, "{}{}: {} tokens, the model needs {} (config.json: {})", folder, file, size, needed,
            key);
  };
  check_size("/src_vocab.txt", loaded.tokenizer->vocab_size(), config.src_vocab, "src_vocab_size");
  check_size("/tgt_vocab.txt", loaded.tokenizer->target().vocab_size(), config.tgt_vocab, "tgt_vocab_size");
  return loaded;
}

std::vector<int64_t> scored_numbers(int64_t count, uint64_t seed) { return text::held_out_sample(count, seed + 2); }

NumberWordsResult train_number_words(const NumberWordsOptions& options, std::ostream& out,
                                     const TerminalInfo& terminal) {
  check(options);
  const int64_t asked = recipe_of(options.run, asked_steps(options.run)).steps;
  const auto folder = open_run_folder(options.run.ranks, options.run.out, options.run.start);
  Communicator& ranks = ranks_or_alone(options.run.ranks);
  int64_t steps = ranks.leads() ? affordable_steps(options, *folder, asked, out) : 0;
  ranks.broadcast(&steps, sizeof steps);
  NumberWordsTask task(options, folder.get(), out, recipe_of(options.run, steps));
  task.print_model();
  NumberWordsResult result{.run = task.train(folder, terminal)};
  const std::vector<int64_t> numbers = scored_numbers(options.held_out, options.run.seed);
  result.held_out = std::ssize(numbers);
  result.exact = task.exact(numbers);
  if (!ranks.leads()) return result;
  out << fmt::format(
      "\n{} of {} held-out numbers exactly right ({:.1f}%) after {} steps in {:.1f} s, {:.0f} tokens/s\n", result.exact,
      result.held_out, 100 * result.held_out_exact(), result.run.step, result.run.seconds,
      result.run.tokens_per_second);
  return result;
}

}  // namespace tape::train
