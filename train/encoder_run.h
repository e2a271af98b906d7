#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "../autograd/random.h"
#include "../models/bert.h"
#include "../text/batch_plan.h"
#include "classifier_recipe.h"
#include "fine_tuning.h"
#include "labelled_lines.h"
#include "model_memory.h"
#include "settings.h"
#include "task_run.h"

namespace tape::train {

/// What the runs have in common that train a head on an encoder, with ClassificationOptions or TokenLabelOptions. The
/// constructor of such a task reads its data, then calls begin_tokenizer() and, with the encoded data at hand,
/// begin_learning().
template <class Options, class Batch, class Model, class PretrainedModel>
class EncoderRun : public TaskRun<Batch, Model, text::Tokenizer> {
  using Base = TaskRun<Batch, Model, text::Tokenizer>;

 protected:
  using Base::adam_, Base::loader_, Base::model_, Base::out_, Base::recipe_, Base::schedule_, Base::tokenizer_;

  /// `task` names the run in its log, `command` in Errors.
  EncoderRun(const char* task, const char* command, const Options& options, std::ostream& out)
      : Base(task, options.run, out),
        command_(command),
        options_(options),
        preset_(classifier_preset(command, options)) {}

  bool keeps_labels() const { return pretrained_ && pretrained_->has_head() && !options_.new_head; }

  /// What read(known labels) gives, of the labels of init where its head is kept, else of those that the file has.
  template <class Read>
  auto read_data(Read&& read) const {
    if (!keeps_labels()) return read(text::LabelNames());
    try {
      return read(text::LabelNames(pretrained_->config.labels));
    } catch (const Error& error) {
      read(text::LabelNames());
      raise(error.kind(), "{}, the labels of {}; a new head would learn those of the file", error.what(),
            options_.init);
    }
  }

  /// That of init, or one that learns from the sentences that `sentences()` gives.
  template <class Sentences>
  void begin_tokenizer(const RunFolder* folder, Sentences&& sentences) {
    this->take_tokenizer(folder, [&]() -> std::unique_ptr<text::Tokenizer> {
      if (pretrained_) return std::move(pretrained_->tokenizer);
      return learn_tokenizer(sentences(), vocab_size());
    });
  }

  /// Recipe, model, optimizer, schedule and batches of examples of these lengths. `from_scratch()` makes a model's
  /// configuration, `from_init()` a model, `collate(which)` a batch.
  template <class FromScratch, class FromInit, class Collate>
  void begin_learning(const std::vector<text::ExampleLength>& lengths, FromScratch&& from_scratch, FromInit&& from_init,
                      Collate&& collate) {
    const auto plan = [this, &lengths](int64_t epoch) {
      return text::plan_batches(lengths, batching(), options_.run.seed, epoch).batches;
    };
    batches_ = std::ssize(plan(0));
    std::optional<double> dropout;
    if (pretrained_)
      dropout = std::visit([](const auto& encoder) { return encoder.dropout; }, pretrained_->config.encoder);
    recipe_ = classifier_recipe(preset_, options_.run, batches_, dropout);
    manual_seed(options_.run.seed);
    if (pretrained_) {
      model_ = from_init();
      if (options_.freeze) freeze_layers(*model_, *options_.freeze);
      pretrained_->values.clear();
    } else {
      const auto config = from_scratch();
      check_memory(command_, parameter_count(config));
      model_ = std::make_unique<Model>(config);
    }
    this->make_adam();
    schedule_ = std::make_unique<optim::LinearSchedule>(
        *adam_, optim::LinearOptions{.warmup = recipe_.warmup, .total = recipe_.steps});
    loader_ =
        std::make_unique<Loader<Batch>>(LoaderOptions<Batch>{.plan = plan, .collate = std::forward<Collate>(collate)});
  }

  int64_t vocab_size() const { return options_.vocab_size.value_or(preset_.vocab_size); }
  double valid_fraction() const { return options_.valid_fraction.value_or(0.1); }
  int64_t padding_id() const { return model_->base->options().padding_id; }

  /// The encoder of a model from scratch.
  models::BertConfig scratch_encoder() const {
    const int64_t width = options_.width.value_or(preset_.width);
    return {.vocab = tokenizer_->vocab_size(),
            .d_model = width,
            .layers = options_.layers.value_or(preset_.layers),
            .heads = options_.heads.value_or(preset_.heads),
            .d_ff = 4 * width,
            .max_length = max_length(),
            .segments = 1,
            .dropout = recipe_.dropout,
            .attention_dropout = recipe_.dropout,
            .padding_id = tokenizer_->special().pad};
  }

  /// Tokens of an example at most.
  int64_t max_length() const {
    const int64_t positions = pretrained_ ? models::parts_of(pretrained_->config.encoder).max_length
                                          : options_.max_length.value_or(preset_.max_length);
    const int64_t wanted = options_.max_length.value_or(positions);
    if (wanted > positions)
      raise(ErrorKind::config, "{}: max_length must be at most {}, the positions of {}, got {}", command_, positions,
            options_.init, wanted);
    return wanted;
  }

  text::BatchOptions batching() const {
    const int64_t rows = options_.batch.value_or(preset_.batch), longest = max_length();
    if (options_.batch_tokens && *options_.batch_tokens < longest)
      raise(ErrorKind::config, "{}: batch_tokens must be at least max_length, {}, got {}", command_, longest,
            *options_.batch_tokens);
    const int64_t most = std::numeric_limits<int64_t>::max();
    const int64_t tokens = options_.batch_tokens.value_or(rows > most / longest ? most : rows * longest);
    return {.max_tokens = tokens, .max_sentences = rows};
  }

  /// Numbers for each of `count` examples, of which every rank has found those of its share.
  std::vector<std::vector<double>> all_of(const std::vector<std::vector<double>>& mine, size_t count) const {
    std::vector<std::string> bytes;
    for (const std::vector<double>& found : mine)
      bytes.emplace_back(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(double));
    std::vector<std::vector<double>> all;
    for (const std::string& of_one : joined_shares(this->ranks(), bytes, count)) {
      all.emplace_back(of_one.size() / sizeof(double));
      std::memcpy(all.back().data(), of_one.data(), of_one.size());
    }
    return all;
  }

  /// The loss of a label of that probability.
  static double loss_of(double probability) {
    return -std::log(std::max(probability, std::numeric_limits<double>::min()));
  }

  /// Settings of the options that both have, `format` and what `more` says among them.
  void add_encoder_settings(nlohmann::ordered_json& json, const std::string& format,
                            const std::vector<std::string>& fields, const nlohmann::ordered_json& more) const {
    const nn::TransformerLayerOptions& layer = model_->base->options().layers.front();
    json["preset"] = preset_.name;
    json["data"] = file_setting(options_.data);
    json["valid"] = file_setting(options_.valid);
    if (options_.valid.empty()) json["valid_fraction"] = valid_fraction();
    json["format"] = format;
    if (options_.records) json["fields"] = fields;
    if (pretrained_) {
      // Its weights are in the checkpoint.
      json["init"] = file_setting(fmt::format("{}/config.json", options_.init));
      json["new_head"] = options_.new_head;
      json["freeze"] = options_.freeze.value_or(0);
    } else {
      json["vocab_size"] = vocab_size();
    }
    json.update(more);
    json["batch"] = batching().max_sentences;
    json["batch_tokens"] = batching().max_tokens;
    json["max_length"] = max_length();
    json["layers"] = model_->base->options().layers.size();
    json["width"] = layer.d_model;
    json["heads"] = layer.heads;
  }

  const char* const command_;
  const Options& options_;
  const ClassifierPreset& preset_;
  std::optional<PretrainedModel> pretrained_;
  int64_t batches_ = 0;  // an epoch
};

}  // namespace tape::train
