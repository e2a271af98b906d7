#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../autograd/memory.h"
#include "../../autograd/random.h"
#include "../../autograd/tape/scope.h"
#include "../../autograd/transforms/rematerialize.h"
#include "../../models/folders/folder.h"
#include "../../models/sentence/sentence_encoder.h"
#include "../../nn/transformer/layer_checkpoints.h"
#include "../../optim/adamw.h"
#include "../../optim/clip.h"
#include "../../text/json.h"
#include "../../text/tokenizers/load_tokenizer.h"
#include "../checkpoints/checkpoint.h"
#include "../distributed/shared_data.h"
#include "../doctor/doctor.h"
#include "../memory/memory_fit.h"
#include "../runs/progress.h"
#include "../trainer/step.h"
#include "../trainer/trainer.h"
#include "planned_steps.h"
#include "recipe.h"

namespace tape::train {

/// Base of the runs of all built-in tasks. The task's constructor reads its data and creates tokenizer, model,
/// optimizer, schedule and loader; virtual functions compute the loss of a batch and evaluate the model.
template <class Batch, class Model>
class TaskRun {
 public:
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  TrainResult train(const std::shared_ptr<RunFolder>& folder, const TerminalInfo& terminal) {
    begin_model();
    TrainerOptions options = trainer_options(run_, recipe_, folder, out_, terminal);
    const std::unique_ptr<MemoryFit> fit = fit_memory();
    if (fit) options.parts = fit->parts();
    options.schedule = schedule_.get();
    const nlohmann::ordered_json run_settings = settings();
    options.describe = {
        .task = name_, .options_json = dump_json(description(run_settings)), .command_json = run_.command_json};
    if (const LossBounds scale = loss_bounds(); scale.classes > 0) {
      options.describe.chance_loss = std::log(static_cast<double>(scale.classes));
      if (scale.label_smoothing > 0) options.describe.loss_floor = smoothed_floor(scale.label_smoothing, scale.classes);
    }
    options.settings_json = dump_json(run_settings);
    options.save_model = [this](const std::string& path) {
      save_model(path);
      tokenizer_->save(path);
    };
    options.load_model = [this](const std::string& path) { return load_model(path); };
    Trainer trainer(*model_, *adam_, options);
    begin_folder(folder.get());
    return trainer.fit(
        *loader_, [this](const Batch& batch) { return training_loss(batch); }, [this] { return evaluate_in_memory(); });
  }

  Diagnosis examine() {
    begin_model();
    const LossBounds scale = loss_bounds();
    DoctorOptions options{.label_smoothing = scale.label_smoothing, .classes = scale.classes};
    options.schedule = schedule_.get();
    options.total_steps = recipe_.steps;
    return overfit_one_batch(
        *model_, *adam_, *loader_,
        [this](const Batch& batch) {
          const MatmulPrecisionScope precision(run_.precision);
          return training_loss(batch);
        },
        options);
  }

 protected:
  TaskRun(const char* name, const TaskOptions& run, std::ostream& out)
      : name_(name), run_(run), out_(ranks_or_single(run.ranks).is_root() ? out : null_stream_) {}
  /// A task's destructor must call stop_loading(): the prefetching thread reads members of the task.
  virtual ~TaskRun() = default;
  void stop_loading() { loader_.reset(); }

  Communicator& ranks() const { return ranks_or_single(run_.ranks); }

  /// The tokenizer of the verified checkpoint from which a run resumes, otherwise a new one. Also writes it to the
  /// run's folder, where it may be missing or damaged; ranks other than 0 read it from there.
  template <class Make>
  void take_tokenizer(const RunFolder* folder, Make&& make) {
    if (ranks().is_root()) {
      const auto saved =
          folder && folder->resumes() ? newest_intact_folder(folder->path(), folder->checked()) : std::nullopt;
      if (saved)
        tokenizer_ = text::load_tokenizer(*saved);
      else
        tokenizer_ = make();
      save_tokenizer(folder);
    }
    barrier(ranks());
    if (!ranks().is_root())
      tokenizer_ = text::load_tokenizer(folder->resumes() ? folder->path() : folder->file(kSharedTokenizer));
  }

  /// Makes data on rank 0 and shares it with all ranks: see shared_data().
  template <class Data, class Make>
  Data share(const RunFolder* folder, Make&& make) {
    if (ranks().size() == 1) return make();
    if (ranks().is_root()) make_folder(folder->file("tokens"));
    return shared_data<Data>(ranks(), folder->file("tokens/examples"), std::forward<Make>(make));
  }

  /// Saves to the folder of a run that resumes. A new run saves it when training begins (begin_folder), but already
  /// shares it with other ranks here.
  void save_tokenizer(const RunFolder* folder) {
    if (!folder || !ranks().is_root()) return;
    if (folder->resumes())
      tokenizer_->save(folder->path());
    else if (ranks().size() > 1)
      tokenizer_->save(folder->file(kSharedTokenizer));
  }

  /// Replaces the folder's contents. Called once a new run can no longer be rejected.
  void begin_folder(const RunFolder* folder) {
    barrier(ranks());  // all ranks have read the shared tokenizer
    if (!folder || !ranks().is_root() || folder->resumes()) return;
    if (folder->replaces()) {
      folder->remove_replaced_run();
      models::remove_model(folder->path());
      text::remove_tokenizer(folder->path());
    }
    tokenizer_->save(folder->path());
  }

  /// Saves the model for a run's folder; load_model() returns the model's values from such a folder.
  virtual void save_model(const std::string& folder) { models::save(folder, *model_); }
  virtual nn::StateDict load_model(const std::string& folder) { return models::load<Model>(folder)->state_dict(); }
  /// The training loss of a batch.
  virtual BatchLoss training_loss(const Batch& batch) = 0;
  virtual Evaluation evaluate() = 0;
  /// Calls f(first, rows) for parts of a validation batch that fit into memory.
  template <class F>
  void for_valid_parts(int64_t rows, F&& f) const {
    const int64_t each = std::max<int64_t>(rows / valid_parts_, 1);
    for (int64_t first = 0; first < rows; first += each) f(first, std::min(each, rows - first));
  }
  /// Tokens per batch in which models::classify() and others compute validation data.
  int64_t valid_batch_tokens() const { return std::max<int64_t>(4096 / valid_parts_, 1); }
  /// Adds the task's part of settings(): every option and file that the bits depend on, null if not set. All ranks must
  /// call it.
  virtual void add_settings(nlohmann::ordered_json& json) const = 0;
  virtual LossBounds loss_bounds() const { return {}; }

  /// Creates the optimizer: betas and eps are the task's, everything else is from the recipe and the options.
  void make_adam(optim::AdamWOptions options = {}) {
    options.lr = recipe_.lr;
    options.weight_decay = recipe_.weight_decay;
    options.moments = run_.moments;
    const RateOptions rates{.lr = recipe_.lr, .layer_decay = run_.layer_decay.value_or(1), .lr_of = run_.lr_of};
    adam_ = std::make_unique<optim::AdamW>(parameter_groups(*model_, rates), options);
  }

  /// Plans the steps that fit into `budget` seconds, see plan_steps(). All ranks must call it, once model and loader
  /// exist; rank 0's speed decides. The caller adds PlannedSteps::setting() to its settings.
  PlannedSteps plan_steps_together(const RunFolder* folder, int64_t asked, double budget) {
    PlannedSteps planned{asked, asked};
    if (ranks().is_root())
      planned = plan_steps(
          asked, budget, folder, [this] { return seconds_per_step(); }, out_);
    ranks().broadcast(&planned.steps, sizeof planned.steps);
    return planned;
  }

  void print_notes(const std::vector<std::string>& notes) const {
    for (const std::string& note : notes) out_ << note << "\n";
  }

  /// Removed, like everything with this prefix, when the first checkpoint is saved.
  static constexpr const char* kSharedTokenizer = ".tmp-tokenizer";

  std::ostream null_stream_{nullptr};  // output of ranks other than 0
  const char* const name_;
  const TaskOptions& run_;
  std::ostream& out_;
  Recipe recipe_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<optim::AdamW> adam_;
  std::unique_ptr<optim::Schedule> schedule_;
  std::unique_ptr<Loader<Batch>> loader_;

 private:
  using Json = nlohmann::ordered_json;

  /// Applies options to the model.
  void begin_model() {
    if (run_.checkpoint_layers && ranks().size() > 1 && run_.distributed.sharding == Sharding::parameters)
      raise(ErrorKind::config,
            "train: checkpoint_layers recomputes layers when their parameters, which the ranks shard "
            "(Sharding::parameters), are no longer gathered");
    nn::set_layer_checkpoints(*model_, run_.checkpoint_layers);
  }

  /// Evaluates with validation batches in whole, or in 2, 4, 8, ... parts if memory is short, now and from then on. Not
  /// with several ranks: the others do not know that one begins again.
  Evaluation evaluate_in_memory() {
    constexpr int64_t kMostParts = 4096;
    while (true) {
      try {
        return evaluate();
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory || ranks().size() > 1 || valid_parts_ >= kMostParts) throw;
      }
      empty_cache();
      valid_parts_ *= 2;
    }
  }

  /// Measures a few steps with a learning rate of 0, which change nothing.
  double seconds_per_step() {
    constexpr int kUntimed = 3, kTimed = 5;
    const ForkRandom random;
    const MatmulPrecisionScope precision(run_.precision);
    const Rematerialize scope(recomputed_bytes(default_device()));  // as in a step
    model_->train();
    optim::AdamW optimizer(parameter_groups(*model_, {.lr = 0}), {.lr = 0});
    BatchSource& source = loader_->source();
    double began = 0;
    for (int step = 0; step < kUntimed + kTimed; ++step) {
      if (step == kUntimed) began = steady_seconds();
      for (int64_t part = 0; part < recipe_.accumulate; ++part)
        if (const BatchSource::Item item = source.next(); item.batch)
          training_loss(*static_cast<const Batch*>(item.batch.get())).loss.backward();
      optimizer.step({.gradient_scale = optim::clip_scale(optim::grad_norm(model_->parameters()), 1)});
      model_->zero_grad();
    }
    source.seek({});
    return (steady_seconds() - began) / kTimed;
  }

  /// Has the warm-up only if it was set: the preset's depends on the steps, which may change on a resume.
  Json settings() const {
    Json json{{"lr", recipe_.lr},
              {"warmup", run_.warmup ? Json(*run_.warmup) : Json()},
              {"dropout", recipe_.dropout},
              {"weight_decay", recipe_.weight_decay},
              {"seed", run_.seed}};
    if (run_.moments == optim::MomentDtype::bf16) json["optimizer_state"] = "bf16";
    if (run_.layer_decay) json["layer_decay"] = *run_.layer_decay;
    for (const PatternRate& rate : run_.lr_of) json["lr_of"][rate.pattern] = rate.lr;
    add_settings(json);
    return json;
  }

  /// For the log: the whole recipe, and all settings that are set.
  Json description(const Json& run_settings) const {
    Json json = to_json(recipe_);
    for (const auto& [key, value] : run_settings.items())
      if (!value.is_null()) json[key] = value;
    json["precision"] = to_string(run_.precision);
    return json;
  }

  /// Makes steps fit into the memory limit during the lifetime of the returned object.
  std::unique_ptr<MemoryFit> fit_memory() {
    if (!run_.memory_limit) return nullptr;
    if (ranks().size() > 1) raise(ErrorKind::config, "train: memory_limit supports only a single process");
    if (run_.step_in_backward)
      raise(ErrorKind::config, "train: memory_limit splits batches, but step_in_backward cannot accumulate gradients");
    auto fit = std::make_unique<MemoryFit>(*run_.memory_limit, *model_, recipe_.ema_decay > 0, run_.moments,
                                           recipe_.accumulate);
    model_->train();
    const MatmulPrecisionScope precision(run_.precision);
    const Rematerialize scope(recomputed_bytes(default_device()));  // as in a step
    fit->find(loader_->source(), run_.checkpoint_layers,
              [this](const void* batch) { training_loss(*static_cast<const Batch*>(batch)).loss.backward(); });
    out_ << fit->text() << "\n";
    return fit;
  }

  int64_t valid_parts_ = 1;
};

}  // namespace tape::train
