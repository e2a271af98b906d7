#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../../autograd/random.h"
#include "../../text/corpus/label_names.h"
#include "../init/adapter_training.h"
#include "../init/fine_tuning.h"
#include "../memory/model_memory.h"
#include "../runs/settings.h"
#include "encoder_setup.h"
#include "task_run.h"

namespace tape::train {

/// Base of runs that train an encoder, with options that have the field names of EncoderTaskOptions. The constructor of
/// such a task calls begin_with() if it has an init, reads its data, then calls begin_tokenizer(), encodes the data,
/// and calls begin_learning().
template <class Options, class Batch, class Model, class PretrainedModel = PretrainedFor<Model>>
class EncoderRun : public TaskRun<Batch, Model> {
  using Base = TaskRun<Batch, Model>;

 protected:
  using Base::adam_, Base::loader_, Base::model_, Base::out_, Base::recipe_, Base::schedule_, Base::tokenizer_;

  /// `task` names the run in its log, `command` in errors.
  EncoderRun(const char* task, const char* command, const Options& options, const EncoderPresets& presets,
             std::ostream& out)
      : Base(task, options.run, out), options_(options), setup_(encoder_task_options(command, options), presets) {}

  /// Starts from the folder init.
  void begin_with(PretrainedModel pretrained) {
    pretrained_ = std::move(pretrained);
    setup_.begin_with(encoder_of(pretrained_->config));
  }

  bool keeps_labels() const { return pretrained_ && pretrained_->has_head() && !options_.new_head; }

  /// Calls read(known labels) with the labels of init if its head is kept, otherwise with none, so that it uses the
  /// file's.
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

  /// Uses the tokenizer of init or trains one on sentences; with `mask` it must have a mask token.
  void begin_tokenizer(const RunFolder* folder, const text::NextPiece& sentences, bool mask = false) {
    this->take_tokenizer(folder, [&]() -> std::unique_ptr<text::Tokenizer> {
      if (pretrained_) return std::move(pretrained_->tokenizer);
      return train_encoder_tokenizer(sentences, setup_.vocab_size(), mask);
    });
  }

  /// Creates recipe, model, optimizer, schedule and loader. `plan(epoch)` returns the examples of each batch,
  /// `from_scratch()` a model configuration, `from_init()` a model, `collate(which)` a batch.
  template <class Plan, class FromScratch, class FromInit, class Collate>
  void begin_learning(Plan&& plan, FromScratch&& from_scratch, FromInit&& from_init, Collate&& collate) {
    batches_ = std::ssize(plan(0));
    recipe_ = setup_.recipe(batches_);
    manual_seed(options_.run.seed);
    if (pretrained_) {
      model_ = from_init();
      if (options_.freeze) freeze_layers(*model_, *options_.freeze);
      if (options_.adapters) begin_adapters(models::adapter_part(*model_), *options_.adapters, trained_whole());
      pretrained_->values.clear();
    } else {
      const auto config = from_scratch();
      check_memory(setup_.options().task, parameter_count(config), options_.run);
      model_ = std::make_unique<Model>(config);
    }
    this->make_adam();
    schedule_ = std::make_unique<optim::LinearSchedule>(
        *adam_, optim::LinearOptions{.warmup = recipe_.warmup, .total = recipe_.steps});
    loader_ = std::make_unique<Loader<Batch>>(
        LoaderOptions<Batch>{.plan = std::forward<Plan>(plan), .collate = std::forward<Collate>(collate)});
  }

  /// With adapters, saves only those, in peft's format.
  void save_model(const std::string& folder) override {
    if (!options_.adapters) return Base::save_model(folder);
    save_adapters(folder, models::adapter_part(*model_), options_.init);
  }
  nn::StateDict load_model(const std::string& folder) override {
    if (!options_.adapters) return Base::load_model(folder);
    return with_adapters(model_->state_dict(), folder, models::adapter_part(*model_));
  }

  int64_t padding_id() const { return std::max<int64_t>(model_->base->options().padding_id, 0); }

  /// Encoder configuration of a model from scratch.
  models::BertConfig scratch_encoder() const { return setup_.from_scratch(*tokenizer_, recipe_.dropout); }

  /// Calls find(some) for all of `examples`, each rank for its share; returns the results, numbers, on every rank.
  template <class List, class Find>
  auto found_of(const List& examples, Find&& find) const {
    const auto mine = map_share(this->ranks(), examples, find);
    using T = typename decltype(mine)::value_type::value_type;
    std::vector<std::string> bytes;
    for (const std::vector<T>& found : mine)
      bytes.emplace_back(reinterpret_cast<const char*>(found.data()), found.size() * sizeof(T));
    std::vector<std::vector<T>> all;
    for (const std::string& of_one : gather_shares(this->ranks(), bytes, examples.size())) {
      all.emplace_back(of_one.size() / sizeof(T));
      std::memcpy(all.back().data(), of_one.data(), of_one.size());
    }
    return all;
  }

  /// Cross-entropy of a label with this probability.
  static double loss_of(double probability) {
    return -std::log(std::max(probability, std::numeric_limits<double>::min()));
  }

  /// Adds the settings common to these tasks, including `format` and, for records, their fields.
  void add_encoder_settings(nlohmann::ordered_json& json, const std::string& format,
                            const std::vector<std::string>& fields) const {
    setup_.add_settings(json, model_->base->options());
    json["format"] = format;
    if (options_.records) json["fields"] = fields;
  }

 private:
  /// Modules that are trained in full besides the adapters: a label head, and what init lacks.
  std::vector<std::string> trained_whole() const {
    constexpr bool has_labels = requires { options_.new_head; };
    std::vector<std::string> modules;
    if (has_labels) modules.emplace_back("head");
    for (const NamedTensor& named : model_->named_parameters())
      if (!pretrained_->values.contains(named.name)) modules.push_back(named.name.substr(0, named.name.rfind('.')));
    return modules;
  }

 protected:
  const Options& options_;
  EncoderSetup setup_;
  std::optional<PretrainedModel> pretrained_;
  int64_t batches_ = 0;  // per epoch
};

/// Runs such a task in the folder that its options name.
template <class Task, class Options>
TrainResult train_encoder(const Options& options, std::ostream& out, const TerminalInfo& terminal) {
  const auto folder = open_run_folder(options.run.ranks, options.run.out, options.run.start,
                                      inputs_of_run({options.data, options.valid}, options.init));
  return Task(options, folder.get(), out).train(folder, terminal);
}

}  // namespace tape::train
