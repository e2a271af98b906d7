#include "train/trainer/training_run.h"

#include <algorithm>

#include "base/error.h"
#include "train/checkpoints/optimizer_order.h"
#include "train/checkpoints/resume.h"
#include "train/memory/machine.h"

namespace tape::train {

void TrainingRun::restore(const Checkpoint& checkpoint, const std::string& from, bool changed) {
  if (checkpoint.state.step > options_.steps)
    raise(ErrorKind::config, "{}: the run has already done {} steps, more than the {} requested", from,
          checkpoint.state.step, options_.steps);
  try {
    model_.load_state_dict(checkpoint.model);
    const std::vector<std::string> order = optimizer_order(model_, optimizer_);
    optimizer_.load_state_dict(changed ? renumbered(checkpoint.optimizer, checkpoint.state.parameters, order)
                                       : checkpoint.optimizer);
    if (average_ && !checkpoint.average.empty()) average_->load(checkpoint.average);
    if (average_ && checkpoint.average.empty()) average_.emplace(model_, options_.ema_decay);
  } catch (const Error& error) {
    raise(error.kind(), "{}: {}", from, error.what());
  }
  state_ = checkpoint.state;
  reported_ = state_.step;
  divergence_.resume(state_.first_loss, state_.highest_lr);
  if (options_.schedule) options_.schedule->set_last_step(state_.schedule_step);
  source_.seek(state_.data);
  set_random_state(state_.random);
  seconds_before_ = state_.seconds;
  saved_ = true;
  result_.resumed_from = state_.step;
  result_.checkpoint = from;
}

bool TrainingRun::checkpoint_due() const {
  if (options_.checkpoint_every > 0 && state_.step > 0 && state_.step % options_.checkpoint_every == 0) return true;
  return evaluate_ && evaluation_due();
}

void TrainingRun::save(Cause cause) {
  saved_ = true;
  if (!folder_) return;
  if (cause == Cause::planned && (state_.planned.empty() || state_.planned.back() != state_.step)) {
    state_.planned.push_back(state_.step);
    if (std::ssize(state_.planned) > std::max(options_.average_last, int64_t{1}))
      state_.planned.erase(state_.planned.begin());
  }
  const Machine here = machine();
  state_.schedule_step = options_.schedule ? options_.schedule->last_step() : 0;
  state_.data = source_.position();
  state_.random = random_state();
  state_.first_loss = divergence_.first_loss();
  state_.highest_lr = divergence_.highest_lr();
  state_.parameters = optimizer_order(model_, optimizer_);
  state_.accumulate = options_.accumulate;
  state_.seconds = seconds();
  state_.version = here.version;
  state_.kernels = here.kernels;
  state_.blas = here.blas;
  state_.blas_core = here.blas_core;
  state_.products = products_in_use(options_.precision);
  state_.threads = here.threads;
  state_.ranks = ranks_.size();
  state_.settings = settings_of(options_);
  result_.checkpoint = folder_->file(checkpoint_name(state_.step));
  const GatheredParameters whole(distributed());
  if (distributed_) distributed_->check_equal(name_of_step(state_.step, false));
  if (!writes()) {
    if (distributed_) distributed_->save_optimizer_state("");  // sends this rank's part
    return;
  }
  Checkpoint checkpoint{.model = model_.state_dict(), .optimizer = {}, .average = judged_weights(), .state = state_};
  CheckpointFiles files = checkpoint_files();
  if (distributed_)
    files.save_optimizer = [this](const std::string& path) { distributed_->save_optimizer_state(path); };
  else
    checkpoint.optimizer = optimizer_.state_dict();
  save_checkpoint(folder_->path(), checkpoint, files);
  const bool best = state_.evaluated_step == state_.step && state_.stale == 0;
  log_->checkpoint(state_.step, checkpoint_name(state_.step), best);
  if (options_.callbacks.on_checkpoint) options_.callbacks.on_checkpoint(state_.step, result_.checkpoint, best);
  remove_old_checkpoints();
}

CheckpointFiles TrainingRun::checkpoint_files() const {
  if (!options_.load_model) return {.more = options_.checkpoint_files};
  return {.save_model = options_.save_model, .load_model = options_.load_model, .more = options_.checkpoint_files};
}

void TrainingRun::remove_old_checkpoints() {
  std::vector<int64_t> keep;
  const std::vector<int64_t> steps = checkpoint_steps(folder_->path());
  const auto last = std::min(std::ssize(steps), static_cast<std::ptrdiff_t>(options_.keep_last));
  keep.insert(keep.end(), steps.end() - last, steps.end());
  const auto best = std::min(std::ssize(state_.best), std::max(options_.keep_best, options_.average_best));
  for (int64_t i = 0; i < best; ++i) keep.push_back(state_.best[static_cast<size_t>(i)].step);
  if (options_.average_last > 0) keep.insert(keep.end(), state_.planned.begin(), state_.planned.end());
  remove_checkpoints_except(folder_->path(), keep);
}

}  // namespace tape::train
