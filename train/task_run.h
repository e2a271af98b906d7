#pragma once

#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../autograd/tape/scope.h"
#include "../models/folder.h"
#include "../optim/adamw.h"
#include "doctor.h"
#include "recipe.h"
#include "trainer.h"

namespace tape::train {

/// The tokenizer of a run that is resumed, where its folder holds the file; else a new one, which the folder is given.
template <class Tokenizer, class Make>
auto resume_tokenizer(const RunFolder* folder, const char* file, Make&& make) {
  if (folder && folder->resumes() && std::filesystem::exists(folder->file(file)))
    return Tokenizer::load(folder->path());
  auto made = make();
  if (folder) made->save(folder->path());
  return made;
}

/// What the runs of all built-in tasks have in common. The task's constructor reads its data and makes tokenizer,
/// model, optimizer, schedule and loader; it then says what a batch costs and how good the model is.
template <class Batch, class Model, class Tokenizer>
class TaskRun {
 public:
  TaskRun(const TaskRun&) = delete;
  TaskRun& operator=(const TaskRun&) = delete;

  TrainResult train(const std::shared_ptr<RunFolder>& folder, const TerminalInfo& terminal) {
    TrainerOptions options = trainer_options(run_, recipe_, folder, out_, terminal);
    options.schedule = schedule_.get();
    options.describe = {.task = name_, .options_json = description().dump()};
    options.save_model = [this](const std::string& path) {
      models::save(path, *model_);
      tokenizer_->save(path);
    };
    options.load_model = [](const std::string& path) { return models::load<Model>(path)->state_dict(); };
    Trainer trainer(*model_, *adam_, options);
    TrainResult result = trainer.fit(
        *loader_, [this](const Batch& batch) { return training_loss(batch); }, [this] { return evaluate(); });
    if (run_.report) run_.report(folder->path());
    return result;
  }

  Diagnosis examine() {
    DoctorOptions options = doctor_options();
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
  TaskRun(const char* name, const TaskOptions& run, std::ostream& out) : name_(name), run_(run), out_(out) {}
  /// A task's own destructor calls stop_loading(): the thread that makes batches ahead reads what is the task's.
  virtual ~TaskRun() = default;
  void stop_loading() { loader_.reset(); }

  /// The loss of a batch that the model learns from.
  virtual Learned training_loss(const Batch& batch) = 0;
  virtual Evaluation evaluate() = 0;
  /// What the log says of the task's own options.
  virtual void describe(nlohmann::ordered_json& json) const = 0;
  virtual DoctorOptions doctor_options() const { return {}; }

  void print_notes(const std::vector<std::string>& notes) const {
    for (const std::string& note : notes) out_ << note << "\n";
  }

  const char* const name_;
  const TaskOptions& run_;
  std::ostream& out_;
  Recipe recipe_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<optim::AdamW> adam_;
  std::unique_ptr<optim::Schedule> schedule_;
  std::unique_ptr<Loader<Batch>> loader_;

 private:
  nlohmann::ordered_json description() const {
    nlohmann::ordered_json json = to_json(recipe_);
    describe(json);
    json["seed"] = run_.seed;
    json["precision"] = to_string(run_.precision);
    return json;
  }
};

}  // namespace tape::train
