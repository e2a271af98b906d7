#include "train/tasks/recipe.h"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "base/check.h"

namespace tape::train {

int64_t steps_of(double epochs, int64_t batches, int64_t accumulate) {
  const double an_epoch = static_cast<double>(batches) / static_cast<double>(std::max<int64_t>(accumulate, 1));
  return static_cast<int64_t>(std::max(1.0, std::ceil(epochs * an_epoch)));
}

void check_length(const TaskOptions& o) {
  if (o.epochs && o.steps)
    raise(ErrorKind::config, "train: epochs and steps cannot both be set: each is the length of the run");
  if (o.epochs && !(*o.epochs > 0 && *o.epochs < 1e6))
    raise(ErrorKind::config, "train: epochs must be greater than 0 and below 1,000,000, got {}", *o.epochs);
}

Recipe apply_options(Recipe recipe, const TaskOptions& o, int64_t batches) {
  check_length(o);
  const int64_t planned = recipe.steps;
  const auto take = [](auto& to, const auto& given) {
    if (given) to = *given;
  };
  take(recipe.steps, o.steps);
  take(recipe.seconds, o.seconds);
  take(recipe.lr, o.lr);
  take(recipe.warmup, o.warmup);
  take(recipe.dropout, o.dropout);
  take(recipe.weight_decay, o.weight_decay);
  take(recipe.clip_norm, o.clip_norm);
  take(recipe.accumulate, o.accumulate);
  take(recipe.evaluate_every, o.evaluate_every);
  take(recipe.patience, o.patience);
  take(recipe.average_last, o.average_last);
  take(recipe.ema_decay, o.ema_decay);
  if (o.epochs && batches > 0) recipe.steps = steps_of(*o.epochs, batches, recipe.accumulate);
  if (!(recipe.lr > 0 && std::isfinite(recipe.lr)))
    raise(ErrorKind::config, "train: lr must be a number > 0, got {}", recipe.lr);
  check_at_least_one("train", {{"steps", recipe.steps}});
  if (!o.warmup && recipe.steps < planned) recipe.warmup = std::min(recipe.warmup, recipe.steps / 10);
  if (recipe.warmup < 0 || recipe.warmup > recipe.steps)
    raise(ErrorKind::config, "train: warmup must be from 0 to {} (steps), got {}", recipe.steps, recipe.warmup);
  if (!o.evaluate_every) recipe.evaluate_every = std::min(recipe.evaluate_every, recipe.steps);
  return recipe;
}

nlohmann::ordered_json to_json(const Recipe& r) {
  return {{"steps", r.steps},         {"seconds", r.seconds},           {"lr", r.lr},
          {"warmup", r.warmup},       {"dropout", r.dropout},           {"weight_decay", r.weight_decay},
          {"clip_norm", r.clip_norm}, {"accumulate", r.accumulate},     {"evaluate_every", r.evaluate_every},
          {"patience", r.patience},   {"average_last", r.average_last}, {"ema_decay", r.ema_decay}};
}

void check_not_set_with_init(const char* task, std::initializer_list<std::pair<const char*, bool>> given) {
  for (const auto& [option, is_given] : given)
    if (is_given) raise(ErrorKind::config, "{}: {} cannot be set with init, whose model determines it", task, option);
}

TrainerOptions trainer_options(const TaskOptions& options, const Recipe& recipe, std::shared_ptr<RunFolder> folder,
                               std::ostream& out, const TerminalInfo& terminal) {
  TrainerOptions trainer{.ranks = options.ranks,
                         .distributed = options.distributed,
                         .folder = std::move(folder),
                         .steps = recipe.steps,
                         .seconds = recipe.seconds,
                         .clip_norm = recipe.clip_norm,
                         .accumulate = recipe.accumulate,
                         .step_in_backward = options.step_in_backward,
                         .precision = options.precision,
                         .evaluate_every = recipe.evaluate_every,
                         .patience = recipe.patience,
                         .keep_last = std::max(options.keep_last, recipe.average_last),
                         .ema_decay = recipe.ema_decay,
                         .average_last = recipe.average_last,
                         .progress = &out,
                         .terminal = terminal,
                         .allow_changes = options.allow_changes,
                         .interrupted = options.interrupted,
                         .report = options.report};
  return trainer;
}

}  // namespace tape::train
