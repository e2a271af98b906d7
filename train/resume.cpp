// How a TrainingRun begins: from the start, or from a checkpoint.
#include <filesystem>

#include <fmt/format.h>

#include "autograd/random.h"
#include "base/error.h"
#include "train/machine.h"
#include "train/training_run.h"

namespace tape::train {
namespace {
namespace fs = std::filesystem;
}

TrainingRun::TrainingRun(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options,
                         const RunFolder* folder, BatchSource& source, Stepper::Learn learn,
                         std::function<Evaluation()> evaluate)
    : model_(model),
      optimizer_(optimizer),
      options_(options),
      folder_(folder),
      source_(source),
      learn_(std::move(learn)),
      evaluate_(std::move(evaluate)),
      stepper_(model, optimizer, options) {
  if (options_.patience > 0 && !evaluate_)
    raise(ErrorKind::config, "Trainer: patience {} needs an evaluation, and fit() was given none", options_.patience);
}

std::optional<FoundCheckpoint> TrainingRun::find_checkpoint() {
  if (!folder_ || !folder_->resumes()) return std::nullopt;
  if (options_.resume_from.empty()) return newest_checkpoint(folder_->path(), checkpoint_files());
  const std::string folder = folder_->file(options_.resume_from);
  return FoundCheckpoint{folder, load_checkpoint(folder, checkpoint_files()), {}};
}

void TrainingRun::begin() {
  const std::optional<FoundCheckpoint> found = find_checkpoint();
  if (options_.seed && !found) manual_seed(*options_.seed);
  if (options_.ema_decay > 0) average_.emplace(model_, options_.ema_decay);
  if (found) restore(found->checkpoint, found->folder);
  const std::string log = folder_ ? folder_->file("log.jsonl") : "";
  if (folder_ && folder_->resumes()) cut_log(log, found ? state_.step : -2);
  log_ = std::make_unique<Log>(log);
  if (options_.progress)
    progress_.emplace(*options_.progress, std::max(options_.steps, state_.step), options_.terminal,
                      ProgressOptions{.first_step = state_.step});
  began_ = steady_seconds();
  if (!found) {
    RunDescription description = options_.describe;
    description.parameters = model_.parameter_count();
    if (description.model.empty()) description.model = nn::to_string(model_);
    log_->start(description);
    if (folder_ && folder_->resumes()) warn("there is no checkpoint to go on from: the run begins at the start");
    return;
  }
  log_->resume(state_.step);
  for (const std::string& warning : found->warnings) warn(warning);
  warn_of_differences(found->checkpoint.state);
  if (average_ && found->checkpoint.average.empty())
    warn("the checkpoint has no moving average: it begins with the parameters of the checkpoint");
  set_aside_later_checkpoints();
}

void TrainingRun::restore(const Checkpoint& checkpoint, const std::string& from) {
  try {
    model_.load_state_dict(checkpoint.model);
    optimizer_.load_state_dict(checkpoint.optimizer);
    if (average_ && !checkpoint.average.empty()) average_->load(checkpoint.average);
    if (average_ && checkpoint.average.empty()) average_.emplace(model_, options_.ema_decay);
  } catch (const Error& error) {
    raise(error.kind(), "{}: {}", from, error.what());
  }
  state_ = checkpoint.state;
  if (options_.schedule) options_.schedule->set_last_step(state_.schedule_step);
  source_.seek(state_.data);
  set_random_state(state_.random);
  seconds_before_ = state_.seconds;
  saved_ = true;
  result_.resumed_from = state_.step;
  result_.checkpoint = from;
}

/// Those behind the step that the run goes on from are broken, or of a future that will be another one: they are kept,
/// under a name that is not taken for a checkpoint.
void TrainingRun::set_aside_later_checkpoints() {
  for (const int64_t later : checkpoint_steps(folder_->path())) {
    if (later <= state_.step) continue;
    const std::string name = checkpoint_name(later), aside = fmt::format("set-aside-{}", name);
    std::error_code failed;
    fs::remove_all(folder_->file(aside), failed);
    fs::rename(folder_->file(name), folder_->file(aside), failed);
    if (failed) raise(ErrorKind::io, "{}: cannot rename: {}", folder_->file(name), failed.message());
    warn(fmt::format("{} is now {}: the run goes on from step {}", name, aside, state_.step));
  }
}

void TrainingRun::warn_of_differences(const TrainerState& before) {
  const Machine here = machine();
  std::vector<std::string> differences;
  const auto compare = [&differences](const char* what, const auto& then, const auto& now) {
    if (then != now) differences.push_back(fmt::format("{} {} then, {} now", what, then, now));
  };
  compare("version", before.version, here.version);
  compare("threads", before.threads, here.threads);
  compare("kernels", before.kernels, here.kernels);
  compare("BLAS", before.blas, here.blas);
  compare("BLAS core", before.blas_core, here.blas_core);
  compare("batches a step", before.accumulate, options_.accumulate);
  if (!differences.empty())
    warn(fmt::format("the bits may differ from those of a run that was not stopped: {}", fmt::join(differences, "; ")));
}

void TrainingRun::warn(const std::string& text) {
  result_.warnings.push_back(text);
  log_->warning(state_.step, text);
  if (progress_) progress_->line(fmt::format("warning: {}", text));
  if (options_.callbacks.on_warning) options_.callbacks.on_warning(text);
}

}  // namespace tape::train
