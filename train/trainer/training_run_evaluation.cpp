#include "train/trainer/training_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "base/error.h"
#include "nn/module/training_mode.h"

namespace tape::train {
namespace {

/// While in scope, the model is in evaluation mode; restores its mode and the random streams.
class EvaluationScope {
 public:
  explicit EvaluationScope(nn::Module& model) : mode_(model, false) { model.prepare_for_inference(); }
  EvaluationScope(const EvaluationScope&) = delete;
  EvaluationScope& operator=(const EvaluationScope&) = delete;

 private:
  const NoGrad no_grad_;
  const ForkRandom random_;
  const nn::TrainingModeGuard mode_;
};

/// Clamped to finite values, so that it can be saved.
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

bool TrainingRun::evaluation_due() const {
  return options_.evaluate_every > 0 && state_.step > 0 && state_.step % options_.evaluate_every == 0;
}

Evaluation TrainingRun::evaluated() {
  const EvaluationScope scope(model_);
  Evaluation evaluation;
  try {
    evaluation = evaluate_();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory) throw;
    raise(ErrorKind::out_of_memory, "train: the evaluation at step {} does not fit into memory: {}", state_.step,
          error.what());
  }
  if (ranks_.size() == 1) return evaluation;
  // Decisions must be the same on all ranks.
  struct Judged {
    double loss, score;
    bool scored;
  } judged{evaluation.loss, evaluation.score.value_or(0), evaluation.score.has_value()};
  ranks_.broadcast(&judged, sizeof judged);
  evaluation.loss = judged.loss;
  evaluation.score = judged.scored ? std::optional(judged.score) : std::nullopt;
  return evaluation;
}

void TrainingRun::run_optional(const char* what, const std::function<void()>& make) {
  try {
    make();
  } catch (const std::exception& error) {
    warn(fmt::format("{} left out: {}", what, error.what()));
  }
}

void TrainingRun::draw_samples(Evaluation& evaluation) {
  if (!evaluation.draw_samples) return;
  run_optional("samples", [&] {
    const EvaluationScope scope(model_);
    evaluation.samples = evaluation.draw_samples();
  });
  evaluation.draw_samples = {};
}

void TrainingRun::write_report() {
  if (writes() && options_.report) run_optional("the report", [this] { options_.report(folder_->path()); });
}

void TrainingRun::show_evaluation() {
  {
    const GatheredParameters whole(distributed());
    std::optional<ScopedWeights> judged;
    if (average_) judged.emplace(model_, average_->values());
    draw_samples(*last_);
  }
  log_->samples(state_.step, *last_);
  if (options_.callbacks.on_evaluation && ranks_.is_root()) options_.callbacks.on_evaluation(state_.step, *last_);
  write_report();
}

void TrainingRun::save_unevaluated() {
  // Several ranks must save together, but the others may not have failed.
  if (saved_ || state_.step == 0 || ranks_.size() > 1) return;
  try {
    save(Cause::interruption);
  } catch (const std::exception&) {
    // Reports the evaluation's error rather than this one.
  }
}

void TrainingRun::evaluate() {
  try {
    const GatheredParameters whole(distributed());
    std::optional<ScopedWeights> judged;
    if (average_) judged.emplace(model_, average_->values());
    last_ = evaluated();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numeric) save_unevaluated();  // non-finite weights are of no use
    throw;
  } catch (const std::exception&) {
    save_unevaluated();
    throw;
  }
  const GatheredParameters whole(distributed());
  std::optional<ScopedWeights> judged;
  if (average_) judged.emplace(model_, average_->values());
  state_.evaluated_step = state_.step;
  saved_ = false;
  note_score(*last_);
  const bool best = state_.stale == 0;
  log_->evaluation(state_.step, seconds(), *last_);
  if (progress_)
    progress_->line(fmt::format("step {}  {}{}", state_.step, shown(*last_), best ? "  (best so far)" : ""));
  if (const auto warning = divergence_.evaluation(last_->loss)) warn(*warning);
  if (best && !folder_) {
    best_in_memory_ = {.name = name_of_step(state_.step, false), .weights = {}, .evaluation = last_};
    for (const auto& [name, tensor] : model_.state_dict()) best_in_memory_->weights[name] = tensor.detach().clone();
  }
  if (best && writes() && options_.save_model) options_.save_model(folder_->path());
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

std::vector<Candidate> TrainingRun::candidates() {
  std::vector<Candidate> all;
  if (best_in_memory_ && best_in_memory_->name != name_of_step(state_.step, false)) all.push_back(*best_in_memory_);
  if (folder_)
    all = saved_candidates(*folder_, state_, options_, checkpoint_files(),
                           [this](const std::string& text) { warn(text); });
  all.push_back({name_of_step(state_.step, average_.has_value()), judged_weights(), last_});
  return all;
}

void TrainingRun::evaluate_candidate(Candidate& candidate) {
  const ScopedWeights judged(model_, candidate.weights);
  candidate.evaluation = evaluated();
  if (candidate.name.starts_with("average")) {
    log_->evaluation(state_.step, seconds(), *candidate.evaluation, candidate.name);
    draw_samples(*candidate.evaluation);
    log_->samples(state_.step, *candidate.evaluation);
  }
  if (progress_) progress_->line(fmt::format("{}  {}", candidate.name, shown(*candidate.evaluation)));
}

void TrainingRun::finish() {
  if (writes()) remove_old_checkpoints();  // including those left by a kill after the last save
  barrier(ranks_);
  std::vector<Candidate> all = candidates();
  size_t best = 0;
  for (size_t i = 0; evaluate_ && i < all.size(); ++i) {
    if (!all[i].evaluation) evaluate_candidate(all[i]);
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
  if (result_.evaluation) draw_samples(*result_.evaluation);
}

}  // namespace tape::train
