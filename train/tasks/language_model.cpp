#include "train/tasks/language_model.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "base/path.h"
#include "models/decoding/generate.h"
#include "text/json.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/train_byte_level_bpe.h"
#include "train/data/language_data.h"
#include "train/data/tokenizer_checksum.h"
#include "train/init/init_settings.h"
#include "train/memory/model_memory.h"
#include "train/runs/settings.h"
#include "train/tasks/language_model_preset.h"
#include "train/tasks/task_run.h"

namespace tape::train {
namespace {

class LanguageModelTask : public TaskRun<LanguageBatch, models::CausalLM> {
 public:
  LanguageModelTask(const LanguageModelOptions& options, const RunFolder* folder, std::ostream& out)
      : TaskRun("language model", options.run, out), options_(options), preset_(language_model_preset(options)) {
    apply_options(preset_.recipe, options.run);  // rejects invalid options before anything is read
    if (options.init) pretrained_.emplace(*options.init);
    context_ = context();
    texts_ = find_texts({.text = options.text,
                         .valid = options.valid,
                         .valid_fraction = options.valid_fraction,
                         .format = options.format,
                         .fields = options.fields},
                        ranks());
    print_notes(texts_.notes);
    file_settings_ = {{"text", file_setting(options.text, ranks())}, {"valid", file_setting(options.valid, ranks())}};
    take_tokenizer(folder, [this] { return make_tokenizer(); });
    compare_tokenizers(folder);
    open_data(folder);
    recipe_ = apply_options(preset_.recipe, options.run, data_->plan(0).size());
    make_model();
    make_adam({.betas = {0.9, 0.99}});
    schedule_ = std::make_unique<optim::CosineSchedule>(
        *adam_, optim::CosineOptions{
                    .warmup = recipe_.warmup, .total = recipe_.steps, .min_lr = recipe_.lr * preset_.least_lr});
    loader_ = std::make_unique<Loader<LanguageBatch>>(LoaderOptions<LanguageBatch>{
        .plan = [this](int64_t epoch) { return data_->plan(epoch); },
        .collate = [this](const std::vector<int64_t>& examples) { return data_->training_batch(examples); },
        .prefetch = 0});  // reading a few thousand ids costs less than waking a thread
    const int64_t all = model_->parameter_count(), trained = model_->trainable_parameter_count();
    out_ << fmt::format(
        "{} training tokens, {} validation tokens, vocabulary of {}, {} batches per epoch; {} parameters{}\n",
        train_tokens_, valid_tokens_, tokenizer_->vocab_size(), data_->plan(0).size(), all,
        trained == all ? "" : fmt::format(", {} trainable", trained));
  }
  ~LanguageModelTask() override { stop_loading(); }

 private:
  int64_t batch() const { return options_.batch.value_or(preset_.batch); }

  /// Sequence length in tokens.
  int64_t context() const {
    const int64_t most = pretrained_ ? pretrained_->max_length().value_or(INT64_MAX) : INT64_MAX;
    if (options_.context.value_or(1) > most)
      raise(ErrorKind::config, "train lm: context must be at most {}, the positions of {}, got {}", most,
            options_.init->folder, *options_.context);
    return options_.context.value_or(std::min(preset_.context, most));
  }

  void make_model() {
    if (!pretrained_) check_memory("train lm", parameter_count(sizes()), options_.run);
    manual_seed(options_.run.seed);
    model_ = pretrained_ ? pretrained_->take_model() : make_decoder(sizes());
  }

  /// Tokenizes the texts, unless that was done before, and opens them.
  void open_data(const RunFolder* folder) {
    const nlohmann::ordered_json identity{{"files", file_settings_}, {"data", data_settings()}};
    stored_ = std::make_unique<TokenStoreFolder>(folder ? folder->path() : "", ranks());
    TokenStore store = stored_->open(texts_, *tokenizer_, dump_json(identity), options_.valid_fraction);
    print_notes(store.notes);
    train_tokens_ = store.train.size();
    valid_tokens_ = store.valid.size();
    data_ =
        make_language_data(std::move(store), texts_,
                           {.context = context_, .batch = batch(), .seed = options_.run.seed, .pack = options_.pack});
    print_notes(data_->notes());
  }

  std::unique_ptr<text::Tokenizer> make_tokenizer() {
    if (pretrained_) return pretrained_->take_tokenizer();
    if (!options_.tokenizer.empty()) return text::load_tokenizer(options_.tokenizer);
    if (texts_.train.is_tokens())
      raise(ErrorKind::config,
            "train lm: {} contains token ids: their tokenizer is needed, or a model with its tokenizer", options_.text);
    if (options_.level == TokenLevel::bpe)
      return text::train_byte_level_bpe(texts_.train.pieces(), {.vocab_size = options_.vocab_size});
    return text::character_tokenizer(
        [train = texts_.train.pieces(), valid = texts_.valid.pieces()]() -> std::optional<std::string_view> {
          const auto piece = train();
          return piece ? piece : valid();
        });
  }

  /// Tells of another tokenizer than that of the run that resumes, which keeps its own.
  void compare_tokenizers(const RunFolder* folder) const {
    if (!folder || !folder->resumes() || !ranks().is_root()) return;
    if (options_.tokenizer.empty() || !path_exists(options_.tokenizer)) return;
    if (tokenizer_checksum(*text::load_tokenizer(options_.tokenizer)) != tokenizer_checksum(*tokenizer_))
      out_ << fmt::format("warning: {} is not the tokenizer that the run began with, which it keeps\n",
                          options_.tokenizer);
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
            .activation = options_.activation,
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

  LossBounds loss_bounds() const override { return {.classes = model_->vocab()}; }

  BatchLoss training_loss(const LanguageBatch& b) override { return {loss_of(*model_, b), b.learned}; }

  Evaluation evaluate() override {
    const double mean = mean_loss(map_over_ranks(ranks(), static_cast<size_t>(data_->valid_batches()), [&](size_t i) {
      const LanguageBatch batch = data_->valid_batch(static_cast<int64_t>(i));
      LossSum sum;
      for_valid_parts(batch.rows, [&](int64_t first, int64_t rows) {
        sum += summed(training_loss(slice_rows(batch, first, rows)));
      });
      return sum;
    }));
    return {.loss = mean,
            .metrics = {{"perplexity", std::exp(mean)}},
            .score = -mean,
            .draw_samples = [this] { return std::vector{sample()}; },
            .drawn = data_->prompt_name()};
  }

  /// The model's continuation of the first validation tokens, next to the text's.
  Sample sample() {
    constexpr int64_t kPrompt = 32, kNew = 200;
    const LanguagePrompt prompt = data_->prompt(kPrompt, kNew);
    const auto said = models::generate(*model_, {prompt.begin},
                                       {.sampling = {.temperature = 0.8},
                                        .max_new_tokens = kNew,
                                        .seed = options_.run.seed,
                                        .vocabulary = tokenizer_->vocab_size()});
    return {tokenizer_->decode(prompt.begin), tokenizer_->decode(prompt.rest), tokenizer_->decode(said.front().tokens)};
  }

  /// Settings of how the files are read; empty if all have the defaults for a text.
  nlohmann::ordered_json data_settings() const {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    if (options_.valid.empty()) json["valid_fraction"] = options_.valid_fraction;
    if (texts_.train.format != TextFormat::text) json["format"] = to_string(texts_.train.format);
    if (texts_.train.has_documents())
      json["fields"] = {options_.fields.text, options_.fields.prompt, options_.fields.completion};
    return json;
  }

  void add_settings(nlohmann::ordered_json& json) const override {
    const bool bpe = options_.level == TokenLevel::bpe;
    json["preset"] = preset_.name;
    json.update(file_settings_);
    json.update(data_settings());
    if (options_.pack) json["pack"] = true;
    const bool learned = !pretrained_ && options_.tokenizer.empty();
    if (learned) json["level"] = bpe ? "bpe" : "characters";
    if (learned && bpe) json["vocab_size"] = options_.vocab_size;
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
    if (made.kind == DecoderKind::gpt2) {
      // Runs of earlier releases lack this key: they were trained with gelu.
      const auto activation = made.activation.value_or(nn::ActivationKind::gelu_tanh);
      if (activation != nn::ActivationKind::gelu) json["activation"] = nn::to_string(activation);
      return;
    }
    json["architecture"] = to_string(made.kind);
    if (made.kv_heads) json["kv_heads"] = *made.kv_heads;
    if (made.window) json["window"] = *made.window;
  }

  const LanguageModelOptions& options_;
  const LanguageModelPreset& preset_;
  std::optional<PretrainedDecoder> pretrained_;
  int64_t context_ = 0;
  TextSources texts_;
  nlohmann::ordered_json file_settings_;
  int64_t train_tokens_ = 0, valid_tokens_ = 0;
  std::unique_ptr<TokenStoreFolder> stored_;
  std::unique_ptr<LanguageData> data_;
};

}  // namespace

LanguageModelResult train_language_model(const LanguageModelOptions& options, std::ostream& out,
                                         const TerminalInfo& terminal) {
  const auto folder = open_run_folder(
      options.run.ranks, options.run.out, options.run.start,
      inputs_of_run({options.text, options.valid, options.tokenizer}, options.init ? options.init->folder : ""));
  LanguageModelTask task(options, folder.get(), out);
  LanguageModelResult result{.run = task.train(folder, terminal)};
  if (result.run.evaluation) result.valid_loss = result.run.evaluation->loss;
  return result;
}

Diagnosis examine_language_model(const LanguageModelOptions& options, std::ostream& out) {
  return LanguageModelTask(options, nullptr, out).examine();
}

}  // namespace tape::train
