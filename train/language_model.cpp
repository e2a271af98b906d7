#include "train/language_model.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/loss.h"
#include "models/generate.h"
#include "text/batch_plan.h"
#include "text/characters.h"
#include "text/text_reader.h"
#include "text/train_byte_level_bpe.h"
#include "text/unknown_tokens.h"
#include "train/language_model_preset.h"
#include "train/model_memory.h"
#include "train/settings.h"
#include "train/task_run.h"

namespace tape::train {
namespace {

/// Windows of a text: what is read, and what must be said.
struct WindowBatch {
  std::vector<int64_t> in = {}, out = {};  // [rows, length]
  int64_t rows = 0, length = 0;
};

struct Texts {
  std::string train, valid;
};

std::string whole_text(const std::string& file, text::CharacterRange range = {}) {
  text::TextReader reader(file, range);
  std::string text;
  while (const auto piece = reader.next()) text += *piece;
  return text;
}

class LanguageModelTask : public TaskRun<WindowBatch, models::CausalLM, text::Tokenizer> {
 public:
  LanguageModelTask(const LanguageModelOptions& options, const RunFolder* folder, std::ostream& out)
      : TaskRun("language model", options.run, out), options_(options), preset_(language_model_preset(options)) {
    with_options(preset_.recipe, options.run);  // refused before anything is read
    if (options.init) pretrained_.emplace(*options.init);
    context_ = context();
    read_text();
    take_tokenizer(folder, [this] { return make_tokenizer(); });
    train_ = encode(text_.train, options.text);
    valid_ = encode(text_.valid, options.valid.empty() ? options.text : options.valid);
    text_.train.clear();
    const auto plan = [this](int64_t epoch) {
      return text::plan_windows(std::ssize(train_), context_, batch(), options_.run.seed, epoch);
    };
    const int64_t batches = std::ssize(plan(0));
    recipe_ = with_options(preset_.recipe, options.run, batches);
    windows_ = text::cover_windows(std::ssize(valid_), context_);
    if (windows_.empty()) raise(ErrorKind::config, "train lm: the validation text has fewer than 2 tokens");
    make_model();
    adam_ = std::make_unique<optim::AdamW>(
        decayed_groups(*model_),
        optim::AdamWOptions{.lr = recipe_.lr, .betas = {0.9, 0.99}, .weight_decay = recipe_.weight_decay});
    schedule_ = std::make_unique<optim::CosineSchedule>(
        *adam_, optim::CosineOptions{
                    .warmup = recipe_.warmup, .total = recipe_.steps, .min_lr = recipe_.lr * preset_.least_lr});
    loader_ = std::make_unique<Loader<WindowBatch>>(LoaderOptions<WindowBatch>{
        .plan = plan,
        .collate = [this](const std::vector<int64_t>& starts) { return collate(train_, starts, context_); },
        .prefetch = 0});  // a copy of a few thousand ids costs less than waking a thread
    const int64_t all = model_->parameter_count(), trained = model_->trainable_parameter_count();
    out_ << fmt::format(
        "{} tokens to learn from, {} to validate, {} in the vocabulary, {} batches an epoch; {} parameters{}\n",
        train_.size(), valid_.size(), tokenizer_->vocab_size(), batches, all,
        trained == all ? "" : fmt::format(", {} of them trained", trained));
  }
  ~LanguageModelTask() override { stop_loading(); }

 private:
  int64_t batch() const { return options_.batch.value_or(preset_.batch); }

  /// Tokens that the model sees at once.
  int64_t context() const {
    const int64_t most = pretrained_ ? pretrained_->max_length().value_or(INT64_MAX) : INT64_MAX;
    if (options_.context.value_or(1) > most)
      raise(ErrorKind::config, "train lm: context must be at most {}, the positions of {}, got {}", most,
            options_.init->folder, *options_.context);
    return options_.context.value_or(std::min(preset_.context, most));
  }

  void make_model() {
    if (!pretrained_) check_memory("train lm", parameter_count(sizes()));
    manual_seed(options_.run.seed);
    model_ = pretrained_ ? pretrained_->take_model() : make_decoder(sizes());
  }

  void read_text() {
    std::vector<std::string> notes;
    const int64_t characters = text::count_characters(options_.text, notes);
    if (options_.valid.empty()) {
      const int64_t train = text::training_part(characters, options_.valid_fraction, options_.text, "character");
      text_ = {.train = whole_text(options_.text, {.end = train}),
               .valid = whole_text(options_.text, {.begin = train})};
    } else {
      text::count_characters(options_.valid, notes);
      text_ = {.train = whole_text(options_.text), .valid = whole_text(options_.valid)};
    }
    print_notes(notes);
  }

  /// A tokenizer that was made for another text need not know this one's characters.
  std::vector<int64_t> encode(const std::string& text, const std::string& name) const {
    text::Encoding encoding = tokenizer_->encode(text, {.add_special_tokens = false});
    std::string note;
    if (const auto* const bpe = dynamic_cast<const text::ByteLevelBpe*>(tokenizer_.get())) {
      note = text::lost_characters_note(*bpe, text);
    } else {
      text::UnknownTokens unknown;
      unknown.add(*tokenizer_, encoding, text);
      note = unknown.note();
    }
    if (!note.empty()) out_ << fmt::format("{}: {}\n", name, note);
    return std::move(encoding.ids);
  }

  std::unique_ptr<text::Tokenizer> make_tokenizer() {
    if (pretrained_) return pretrained_->take_tokenizer();
    if (options_.level == TokenLevel::characters)
      return text::character_tokenizer(fmt::format("{}{}", text_.train, text_.valid));
    const std::string lines[] = {text_.train};
    return text::train_byte_level_bpe(lines, {.vocab_size = options_.vocab_size});
  }

  static std::optional<int64_t> if_any(int64_t token) { return token < 0 ? std::nullopt : std::optional(token); }

  DecoderSizes sizes() const {
    return {.kind = options_.architecture,
            .vocab = tokenizer_->vocab_size(),
            .width = options_.width.value_or(preset_.width),
            .layers = options_.layers.value_or(preset_.layers),
            .heads = options_.heads.value_or(preset_.heads),
            .kv_heads = options_.kv_heads,
            .window = options_.window,
            .context = context_,
            .dropout = recipe_.dropout,
            .bos_id = if_any(tokenizer_->special().bos),
            .eos_id = if_any(tokenizer_->special().eos)};
  }

  bool saves_adapters() const { return pretrained_ && pretrained_->has_adapters(); }
  void save_model(const std::string& folder) override {
    if (saves_adapters()) return pretrained_->save_adapters(folder, *model_);
    TaskRun::save_model(folder);
  }
  nn::StateDict load_model(const std::string& folder) override {
    return saves_adapters() ? pretrained_->load_adapters(folder, *model_) : TaskRun::load_model(folder);
  }

  static WindowBatch collate(const std::vector<int64_t>& text, const std::vector<int64_t>& starts, int64_t length) {
    WindowBatch batch{.rows = std::ssize(starts), .length = length};
    for (const int64_t start : starts) {
      const auto first = text.begin() + start;
      batch.in.insert(batch.in.end(), first, first + length);
      batch.out.insert(batch.out.end(), first + 1, first + length + 1);
    }
    return batch;
  }

  Learned training_loss(const WindowBatch& b) override {
    const Tensor logits = (*model_)(from_vector(b.in, {b.rows, b.length}));
    return {cross_entropy(logits, from_vector(b.out, {b.rows, b.length})), b.rows * b.length};
  }

  Evaluation evaluate() override {
    const auto rows = static_cast<size_t>(std::max<int64_t>(batch(), 4096 / context_));
    std::vector<std::pair<std::vector<int64_t>, int64_t>> batches;  // starts, and their windows' length
    for (size_t first = 0; first < windows_.size();) {
      auto& [starts, length] = batches.emplace_back(std::vector<int64_t>(), windows_[first].length);
      for (; first < windows_.size() && windows_[first].length == length && starts.size() < rows; ++first)
        starts.push_back(windows_[first].start);
    }
    const double mean = mean_loss(spread(ranks(), batches.size(), [&](size_t i) {
      return summed(training_loss(collate(valid_, batches[i].first, batches[i].second)));
    }));
    return {.loss = mean,
            .metrics = {{"perplexity", std::exp(mean)}},
            .score = -mean,
            .samples = {sample()},
            .drawn = "the beginning of the validation text, continued"};
  }

  /// How the model goes on from the first tokens of the validation text, and how the text does.
  Sample sample() {
    constexpr int64_t kNew = 200;
    const int64_t prompt = std::min<int64_t>({std::ssize(valid_) - 1, context_, 32});
    const std::vector<int64_t> begin(valid_.begin(), valid_.begin() + prompt);
    const std::vector<int64_t> rest(valid_.begin() + prompt,
                                    valid_.begin() + std::min<int64_t>(std::ssize(valid_), prompt + kNew));
    const auto said = models::generate(
        *model_, {begin}, {.sampling = {.temperature = 0.8}, .max_new_tokens = kNew, .seed = options_.run.seed});
    return {tokenizer_->decode(begin), tokenizer_->decode(rest), tokenizer_->decode(said.front().tokens)};
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    const bool bpe = options_.level == TokenLevel::bpe;
    json["preset"] = preset_.name;
    json["text"] = file_setting(options_.text);
    json["valid"] = file_setting(options_.valid);
    if (options_.valid.empty()) json["valid_fraction"] = options_.valid_fraction;
    if (!pretrained_) json["level"] = bpe ? "bpe" : "characters";
    if (!pretrained_ && bpe) json["vocab_size"] = options_.vocab_size;
    json["context"] = context_;
    json["batch"] = batch();
    if (pretrained_) {
      json.update(to_json(*options_.init));
      return;
    }
    const DecoderSizes made = sizes();
    json["layers"] = made.layers;
    json["width"] = made.width;
    json["heads"] = made.heads;
    if (made.kind == DecoderKind::gpt2) return;
    json["architecture"] = to_string(made.kind);
    if (made.kv_heads) json["kv_heads"] = *made.kv_heads;
    if (made.window) json["window"] = *made.window;
  }

  const LanguageModelOptions& options_;
  const LanguageModelPreset& preset_;
  std::optional<PretrainedDecoder> pretrained_;
  int64_t context_ = 0;
  Texts text_;
  std::vector<int64_t> train_, valid_;
  std::vector<text::Window> windows_;
};

}  // namespace

LanguageModelResult train_language_model(const LanguageModelOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal) {
  const auto folder = open_run_folder(options.run.ranks, options.run.out, options.run.start);
  LanguageModelTask task(options, folder.get(), out);
  LanguageModelResult result{.run = task.train(folder, terminal)};
  if (result.run.evaluation) result.valid_loss = result.run.evaluation->loss;
  return result;
}

Diagnosis examine_language_model(const LanguageModelOptions& options, std::ostream& out) {
  return LanguageModelTask(options, nullptr, out).examine();
}

}  // namespace tape::train
