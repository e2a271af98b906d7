#include "train/trainer/training_run.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/random.h"
#include "base/error.h"
#include "base/file.h"
#include "text/json.h"
#include "train/checkpoints/resume.h"
#include "train/distributed/consistency.h"
#include "train/memory/machine.h"
#include "train/runs/settings.h"

namespace tape::train {

namespace {

/// Settings that the bits depend on, and those that decide when a run steps, evaluates, saves and ends: if ranks differ
/// in one of the latter, or in what they exchange, they deadlock.
std::string settings_of_ranks(const TrainerOptions& options) {
  nlohmann::ordered_json settings = parse_json(settings_of(options), "settings of the run");
  settings.update({{"steps", options.steps},
                   {"seconds", options.seconds},
                   {"evaluate_every", options.evaluate_every},
                   {"patience", options.patience},
                   {"checkpoint_every", options.checkpoint_every},
                   {"parts", options.parts},
                   {"interrupted", options.interrupted ? "set" : "not set"},
                   {"sharding (ZeRO)", static_cast<int>(options.distributed.sharding)},
                   {"bf16", options.distributed.bf16},
                   {"bucket_bytes", options.distributed.bucket_bytes},
                   {"average_last", options.average_last},
                   {"average_best", options.average_best}});
  return dump_json(settings);
}

/// Throws Error (config) on every rank, naming a rank and its value, unless all ranks have the same version, kernels
/// and settings, including the hashes of data files, and step, evaluate and save at the same times. Otherwise their
/// bits or data would differ, or they would deadlock.
void check_same_run(Communicator& ranks, const TrainerOptions& options) {
  const Machine here = machine();
  check_same_text(ranks, "the version", here.version);
  check_same_text(ranks, "the kernels", here.kernels);
  check_same_text(ranks, "the products", products_in_use(options.precision));
  const std::vector<std::string> all = all_gather(ranks, settings_of_ranks(options));
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (const auto differ = differing_settings(all[0], all[rank], "on rank 0", fmt::format("on rank {}", rank));
        !differ.empty())
      raise(ErrorKind::config, "Trainer: the ranks have different settings: {}",
            fmt::to_string(fmt::join(differ, "; ")));
}

}  // namespace

TrainingRun::TrainingRun(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options,
                         const RunFolder* folder, BatchSource& source, Stepper::Learn learn,
                         std::function<Evaluation()> evaluate)
    : model_(model),
      optimizer_(optimizer),
      options_(options),
      ranks_(ranks_or_single(options.ranks)),
      folder_(folder),
      source_(source),
      learn_(std::move(learn)),
      evaluate_(std::move(evaluate)),
      stepper_(model, optimizer, options),
      divergence_(options.describe.chance_loss) {
  if (options_.patience > 0 && !evaluate_)
    raise(ErrorKind::config, "Trainer: patience {} requires an evaluate function in fit()", options_.patience);
  if (options_.interrupted || options_.seconds > 0)
    stepper_.give_up_if([this] { return interrupted() || out_of_time(); });
}

/// Sets up training with the other ranks.
void TrainingRun::join() {
  check_same_run(ranks_, options_);
  source_.share(ranks_.rank(), ranks_.size());
  distributed_.emplace(ranks_, model_, optimizer_, options_.distributed);
  stepper_.share(*distributed_);
}

void TrainingRun::begin() {
  source_.divide(options_.parts);
  if (ranks_.size() > 1) join();
  const GatheredParameters whole(distributed());
  const std::optional<FoundCheckpoint> found =
      folder_ ? find_checkpoint(*folder_, options_, checkpoint_files()) : std::nullopt;
  const std::vector<std::string> changed = found ? changed_settings(*found, options_) : std::vector<std::string>();
  if (options_.seed && !found) manual_seed(*options_.seed);
  if (options_.ema_decay > 0) average_.emplace(model_, options_.ema_decay);
  if (found) restore(found->checkpoint, found->folder, !changed.empty());
  if (!changed.empty()) state_.data = source_.seek_within(state_.data);
  begin_log(found);
  if (!found) {
    if (folder_ && folder_->resumes()) warn("no checkpoint to resume from: starting from the beginning");
    return;
  }
  for (const std::string& warning : found->warnings) warn(warning);
  if (found->checkpoint.state.settings.empty())
    warn(fmt::format("{} does not record its options and data: they were not compared", checkpoint_name(state_.step)));
  if (!changed.empty()) warn(fmt::format("the run resumes with different settings: {}", fmt::join(changed, "; ")));
  if (const std::string now = machine_differences(found->checkpoint.state, options_); !now.empty())
    warn(fmt::format("results may differ bitwise from those of an uninterrupted run: {}", now));
  if (average_ && found->checkpoint.average.empty())
    warn("the checkpoint has no moving average: the average starts from the checkpoint's parameters");
  if (!writes()) return;
  for (const std::string& done : set_aside_later_checkpoints(*folder_, state_.step)) warn(done);
}

void TrainingRun::begin_log(const std::optional<FoundCheckpoint>& found) {
  const std::string log = writes() ? folder_->file("log.jsonl") : "";
  if (writes()) folder_->remove_replaced_run();
  // Before the log, so that a run killed between the two can be identified.
  if (writes() && !options_.describe.command_json.empty())
    write_file(folder_->file(kRunCommand), options_.describe.command_json);
  if (writes() && folder_->resumes()) truncate_log(log, found ? state_.step : -2);
  log_ = std::make_unique<Log>(log);
  if (options_.progress && ranks_.is_root())
    progress_.emplace(*options_.progress, options_.steps, options_.terminal,
                      ProgressOptions{.first_step = state_.step});
  began_ = steady_seconds();
  if (found) {
    log_->resume(state_.step);
    return;
  }
  RunDescription description = options_.describe;
  description.parameters = model_.parameter_count();
  if (description.model.empty()) description.model = nn::to_string(model_);
  log_->start(description);
}

void TrainingRun::warn(const std::string& text) {
  result_.warnings.push_back(text);
  log_->warning(reported_, text);
  if (progress_) progress_->line(fmt::format("warning: {}", text));
  if (options_.callbacks.on_warning && ranks_.is_root()) options_.callbacks.on_warning(text);
}

/// Whether the run is to stop on any rank.
bool TrainingRun::interrupted() {
  if (!options_.interrupted) return false;
  if (!interrupted_) interrupted_ = options_.interrupted();
  return any(ranks_, interrupted_);
}

bool TrainingRun::out_of_time() const { return options_.seconds > 0 && any(ranks_, seconds() >= options_.seconds); }

StopReason TrainingRun::loop() {
  for (;;) {
    if (interrupted()) {
      read_last_step();
      return StopReason::interrupted;
    }
    const bool time_is_up = out_of_time();
    const bool last = state_.step >= options_.steps || time_is_up;
    const bool evaluates = evaluate_ && (evaluation_due() || last) && state_.evaluated_step != state_.step;
    if (evaluates || checkpoint_due() || last) read_last_step();
    if (evaluates) evaluate();
    // A checkpoint that an interrupt made at this step does not count as planned.
    const bool planned = !state_.planned.empty() && state_.planned.back() == state_.step;
    if ((checkpoint_due() || last) && !(saved_ && planned)) save(Cause::planned);
    if (evaluates) show_evaluation();
    if (state_.step >= options_.steps) return StopReason::steps;
    if (options_.patience > 0 && state_.stale >= options_.patience) return StopReason::early_stop;
    if (time_is_up) return StopReason::time;
    step();
  }
}

void TrainingRun::step() {
  const double began = steady_seconds();
  if (!stepper_.unread()) measured_until_ = began;
  std::optional<StepEvent> event;
  try {
    event = stepper_.step(state_.step + 1, source_, learn_);
  } catch (const StepGivenUp&) {
    return read_last_step();  // loop() then stops for the same reason
  } catch (...) {
    read_last_step();
    throw;
  }
  ++state_.step;
  saved_ = false;
  if (average_) average_->update(state_.step);
  if (event) report(*event);
  // A callback may look at the model of its step.
  if (options_.callbacks.on_step) read_last_step();
}

void TrainingRun::read_last_step() {
  if (const std::optional<StepEvent> event = stepper_.read(learn_)) report(*event);
}

void TrainingRun::report(StepEvent event) {
  reported_ = event.step;
  const double t = static_cast<double>(event.step), keep = std::min(0.98, (t - 1) / (t + 8));
  state_.loss_average = keep * state_.loss_average + (1 - keep) * event.loss;
  state_.tokens += event.tokens;
  tokens_ += event.tokens;
  const double now = steady_seconds(), took = now - std::exchange(measured_until_, now);
  step_seconds_ += took;
  event.tokens_per_second = static_cast<double>(event.tokens) / std::max(took, 1e-9);
  event.seconds = seconds();
  if (event.step % options_.log_every == 0 || event.step == options_.steps) log_->step(event);
  if (const auto warning = divergence_.step(event)) warn(*warning);
  if (progress_) {
    ProgressState shown_state{.step = event.step,
                              .epoch = event.epoch,
                              .loss = state_.loss_average,
                              .learning_rate = event.lr,
                              .gradient_norm = event.grad_norm,
                              .tokens = event.tokens};
    if (last_)
      for (const auto& [name, value] : last_->metrics)
        shown_state.extras.emplace_back("valid " + name, fmt::format("{:.4g}", value));
    progress_->update(shown_state);
  }
  if (options_.callbacks.on_step && ranks_.is_root()) options_.callbacks.on_step(event);
}

void TrainingRun::end(StopReason reason) {
  if (distributed_) distributed_->gather_parameters();  // the caller uses the model
  if (reason == StopReason::interrupted) {
    if (!saved_) save(Cause::interruption);
    result_.weights = name_of_step(state_.step, false);
    if (state_.evaluated_step == state_.step) result_.evaluation = last_;
    // A run that was never evaluated has saved no model yet.
    if (writes() && options_.save_model && !state_.best_score) options_.save_model(folder_->path());
  } else {
    finish();
  }
  result_.reason = reason;
  result_.step = state_.step;
  result_.loss = state_.loss_average;
  result_.seconds = seconds();
  result_.tokens_per_second = static_cast<double>(tokens_) / std::max(step_seconds_, 1e-9);
  log_->end(state_.step, result_.seconds, to_string(reason),
            result_.evaluation ? result_.evaluation->metrics : std::map<std::string, double>());
  if (progress_) progress_->finish();
  if (progress_ && reason == StopReason::interrupted)
    progress_->line(folder_ ? fmt::format("interrupted after step {}, saved in {}", state_.step, result_.checkpoint)
                            : fmt::format("interrupted after step {}", state_.step));
}

TrainResult TrainingRun::train() {
  model_.train();
  begin();
  try {
    end(loop());
    write_report();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::numeric) log_->warning(reported_, error.what());
    throw;
  }
  return result_;
}

}  // namespace tape::train
