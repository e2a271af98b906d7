#include "train/training_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "autograd/kernels/bf16_road.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "base/error.h"
#include "nn/training_mode.h"
#include "train/machine.h"
#include "train/resume.h"
#include "train/same_run.h"

namespace tape::train {
namespace {

/// While in scope, a model is in evaluation mode and random streams may be used freely; both are put back.
class EvaluationScope {
 public:
  explicit EvaluationScope(nn::Module& model) : mode_(model, false) {}
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  const NoGrad no_grad_;
  const ForkRandom random_;
  const nn::TrainingModeGuard mode_;
};

/// Finite, so that it can be saved.
double score_of(const Evaluation& evaluation) {
  constexpr double largest = std::numeric_limits<double>::max();
  const double score = evaluation.score.value_or(-evaluation.loss);
  return std::isnan(score) ? -largest : std::clamp(score, -largest, largest);
}

std::string shown(const Evaluation& evaluation) {
  std::string text = fmt::format("valid loss {:.4f}", evaluation.loss);
  for (const auto& [name, value] : evaluation.metrics) text += fmt::format("  {} {:.4g}", name, value);
  return text;
}

}  // namespace

TrainingRun::TrainingRun(nn::Module& model, optim::Optimizer& optimizer, const TrainerOptions& options,
                         const RunFolder* folder, BatchSource& source, Stepper::Learn learn,
                         std::function<Evaluation()> evaluate)
    : model_(model),
      optimizer_(optimizer),
      options_(options),
      ranks_(ranks_or_alone(options.ranks)),
      folder_(folder),
      source_(source),
      learn_(std::move(learn)),
      evaluate_(std::move(evaluate)),
      stepper_(model, optimizer, options) {
  if (options_.patience > 0 && !evaluate_)
    raise(ErrorKind::config, "Trainer: patience {} needs an evaluation, and fit() was given none", options_.patience);
}

/// Takes up with the other ranks.
void TrainingRun::join() {
  check_same_run(ranks_, options_);
  source_.share(ranks_.rank(), ranks_.size());
  distributed_.emplace(ranks_, model_, optimizer_, options_.distributed);
  stepper_.share(*distributed_);
}

void TrainingRun::begin() {
  if (ranks_.size() > 1) join();
  const std::optional<FoundCheckpoint> found =
      folder_ ? find_checkpoint(*folder_, options_, checkpoint_files()) : std::nullopt;
  const std::vector<std::string> changed = found ? changed_settings(*found, options_) : std::vector<std::string>();
  if (options_.seed && !found) manual_seed(*options_.seed);
  if (options_.ema_decay > 0) average_.emplace(model_, options_.ema_decay);
  if (found) restore(found->checkpoint, found->folder);
  if (!changed.empty()) state_.data = source_.seek_within(state_.data);
  begin_log(found);
  if (!found) {
    if (folder_ && folder_->resumes()) warn("there is no checkpoint to go on from: the run begins at the start");
    return;
  }
  for (const std::string& warning : found->warnings) warn(warning);
  if (found->checkpoint.state.settings.empty())
    warn(fmt::format("{} does not say which options and data it was trained with: they were not compared",
                     checkpoint_name(state_.step)));
  if (!changed.empty()) warn(fmt::format("the run goes on with other settings: {}", fmt::join(changed, "; ")));
  if (const std::string now = machine_differences(found->checkpoint.state, options_); !now.empty())
    warn(fmt::format("the bits may differ from those of a run that was not stopped: {}", now));
  if (average_ && found->checkpoint.average.empty())
    warn("the checkpoint has no moving average: it begins with the parameters of the checkpoint");
  if (!writes()) return;
  for (const std::string& done : set_aside_later_checkpoints(*folder_, state_.step)) warn(done);
}

void TrainingRun::begin_log(const std::optional<FoundCheckpoint>& found) {
  const std::string log = writes() ? folder_->file("log.jsonl") : "";
  if (writes() && folder_->resumes()) cut_log(log, found ? state_.step : -2);
  log_ = std::make_unique<Log>(log);
  if (options_.progress && ranks_.leads())
    progress_.emplace(*options_.progress, std::max(options_.steps, state_.step), options_.terminal,
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

void TrainingRun::warn(const std::string& text) {
  result_.warnings.push_back(text);
  log_->warning(state_.step, text);
  if (progress_) progress_->line(fmt::format("warning: {}", text));
  if (options_.callbacks.on_warning && ranks_.leads()) options_.callbacks.on_warning(text);
}

StopReason TrainingRun::loop() {
  for (;;) {
    if (options_.interrupted && any(ranks_, options_.interrupted())) return StopReason::interrupted;
    const bool out_of_time = options_.seconds > 0 && any(ranks_, seconds() >= options_.seconds);
    const bool last = state_.step >= options_.steps || out_of_time;
    if (evaluate_ && (evaluation_due() || last) && state_.evaluated_step != state_.step) evaluate();
    // One that an interruption made here does not count as planned.
    const bool planned = !state_.planned.empty() && state_.planned.back() == state_.step;
    if ((checkpoint_due() || last) && !(saved_ && planned)) save(Cause::planned);
    if (state_.step >= options_.steps) return StopReason::steps;
    if (options_.patience > 0 && state_.stale >= options_.patience) return StopReason::early_stop;
    if (out_of_time) return StopReason::time;
    step();
  }
}

void TrainingRun::step() {
  const double began = steady_seconds();
  StepEvent event = stepper_.step(state_.step + 1, source_, learn_);
  ++state_.step;
  saved_ = false;
  if (average_) average_->update(state_.step);
  const double t = static_cast<double>(state_.step), keep = std::min(0.98, (t - 1) / (t + 8));
  state_.loss_average = keep * state_.loss_average + (1 - keep) * event.loss;
  state_.tokens += event.tokens;
  tokens_ += event.tokens;
  const double took = steady_seconds() - began;
  step_seconds_ += took;
  event.tokens_per_second = static_cast<double>(event.tokens) / std::max(took, 1e-9);
  event.seconds = seconds();
  if (state_.step % options_.log_every == 0 || state_.step == options_.steps) log_->step(event);
  if (progress_) {
    ProgressState shown_state{.step = state_.step,
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
  if (options_.callbacks.on_step && ranks_.leads()) options_.callbacks.on_step(event);
}

bool TrainingRun::evaluation_due() const {
  return options_.evaluate_every > 0 && state_.step > 0 && state_.step % options_.evaluate_every == 0;
}

bool TrainingRun::checkpoint_due() const {
  if (options_.checkpoint_every > 0 && state_.step > 0 && state_.step % options_.checkpoint_every == 0) return true;
  return evaluate_ && evaluation_due();
}

Evaluation TrainingRun::evaluated() {
  const EvaluationScope scope(model_);
  Evaluation evaluation = evaluate_();
  if (ranks_.size() == 1) return evaluation;
  // What is decided by, is decided alike.
  struct Judged {
    double loss, score;
    bool scored;
  } judged{evaluation.loss, evaluation.score.value_or(0), evaluation.score.has_value()};
  ranks_.broadcast(&judged, sizeof judged);
  evaluation.loss = judged.loss;
  evaluation.score = judged.scored ? std::optional(judged.score) : std::nullopt;
  return evaluation;
}

void TrainingRun::evaluate() {
  std::optional<WeightsInPlace> judged;
  if (average_) judged.emplace(model_, average_->values());
  last_ = evaluated();
  state_.evaluated_step = state_.step;
  saved_ = false;
  note_score(*last_);
  const bool best = state_.stale == 0;
  log_->evaluation(state_.step, seconds(), *last_);
  if (progress_)
    progress_->line(fmt::format("step {}  {}{}", state_.step, shown(*last_), best ? "  (the best so far)" : ""));
  if (best && !folder_)
    best_in_memory_ = {.name = name_of_step(state_.step, false), .weights = {}, .evaluation = last_};
  if (best && !folder_)
    for (const auto& [name, tensor] : model_.state_dict()) best_in_memory_->weights[name] = tensor.detach().clone();
  if (best && writes() && options_.save_model) options_.save_model(folder_->path());
  if (options_.callbacks.on_evaluation && ranks_.leads()) options_.callbacks.on_evaluation(state_.step, *last_);
}

void TrainingRun::note_score(const Evaluation& evaluation) {
  const double score = score_of(evaluation);
  if (!state_.best_score || score > *state_.best_score) {
    state_.best_score = score;
    state_.stale = 0;
  } else {
    ++state_.stale;
  }
  const auto better = std::find_if(state_.best.begin(), state_.best.end(),
                                   [score](const ScoredStep& other) { return score > other.score; });
  state_.best.insert(better, {.step = state_.step, .score = score});
  const auto kept = static_cast<size_t>(std::max({options_.keep_best, options_.average_best, int64_t{1}}));
  if (state_.best.size() > kept) state_.best.resize(kept);
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
  state_.accumulate = options_.accumulate;
  state_.seconds = seconds();
  state_.version = here.version;
  state_.kernels = here.kernels;
  state_.blas = here.blas;
  state_.blas_core = here.blas_core;
  state_.products = kernels::products_in_use(options_.precision);
  state_.threads = here.threads;
  state_.ranks = ranks_.size();
  state_.settings = settings_of(options_);
  result_.checkpoint = folder_->file(checkpoint_name(state_.step));
  if (distributed_) distributed_->check_equal(name_of_step(state_.step, false));
  const std::map<std::string, Tensor> optimizer =
      distributed_ ? distributed_->optimizer_state() : optimizer_.state_dict();
  if (!writes()) return;
  save_checkpoint(folder_->path(),
                  {.model = model_.state_dict(), .optimizer = optimizer, .average = judged_weights(), .state = state_},
                  checkpoint_files());
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

std::vector<Candidate> TrainingRun::candidates() {
  std::vector<Candidate> all;
  if (best_in_memory_ && best_in_memory_->name != name_of_step(state_.step, false)) all.push_back(*best_in_memory_);
  if (folder_)
    all = saved_candidates(*folder_, state_, options_, checkpoint_files(),
                           [this](const std::string& text) { warn(text); });
  all.push_back({name_of_step(state_.step, average_.has_value()), judged_weights(), last_});
  return all;
}

void TrainingRun::judge(Candidate& candidate) {
  const WeightsInPlace judged(model_, candidate.weights);
  candidate.evaluation = evaluated();
  if (candidate.name.starts_with("average"))
    log_->evaluation(state_.step, seconds(), *candidate.evaluation, candidate.name);
  if (progress_) progress_->line(fmt::format("{}  {}", candidate.name, shown(*candidate.evaluation)));
}

void TrainingRun::finish() {
  if (writes()) remove_old_checkpoints();  // also what a kill behind the last save left
  meet(ranks_);
  std::vector<Candidate> all = candidates();
  size_t best = 0;
  for (size_t i = 0; evaluate_ && i < all.size(); ++i) {
    if (!all[i].evaluation) judge(all[i]);
    all[i].score = score_of(*all[i].evaluation);
    if (all[i].score > all[best].score) best = i;
  }
  Candidate& chosen = all[best];
  nn::StateDict weights = model_.state_dict();
  for (const auto& [name, tensor] : chosen.weights) weights[name] = tensor.clone();
  model_.load_state_dict(weights);
  result_.weights = chosen.name;
  result_.evaluation = chosen.evaluation;
  if (writes() && options_.save_model) options_.save_model(folder_->path());
}

void TrainingRun::end(StopReason reason) {
  if (reason == StopReason::interrupted) {
    if (!saved_) save(Cause::interruption);
    result_.weights = name_of_step(state_.step, false);
    if (state_.evaluated_step == state_.step) result_.evaluation = last_;
    // A run that was never judged has no model yet.
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
    progress_->line(folder_ ? fmt::format("interrupted after step {}, which {} holds", state_.step, result_.checkpoint)
                            : fmt::format("interrupted after step {}", state_.step));
}

TrainResult TrainingRun::train() {
  model_.train();
  begin();
  try {
    end(loop());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::numeric) log_->warning(state_.step, error.what());
    throw;
  }
  return result_;
}

}  // namespace tape::train
