#include "train/trainer/trainer.h"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "train/trainer/training_run.h"

namespace tape::train {
namespace {

void check_at_least(const char* name, int64_t value, int64_t least) {
  if (value < least) raise(ErrorKind::config, "Trainer: {} must be at least {}, got {}", name, least, value);
}

void check_not_negative(const char* name, double value) {
  if (!(value >= 0) || std::isinf(value))
    raise(ErrorKind::config, "Trainer: {} must be a number >= 0, got {}", name, value);
}

/// Options that an update within the backward does not support.
void check_step_in_backward(const TrainerOptions& o) {
  const auto refuse = [](const std::string& what) {
    raise(ErrorKind::config, "Trainer: step_in_backward updates each parameter before all gradients are known, so {}",
          what);
  };
  if (o.clip_norm > 0) refuse(fmt::format("it cannot clip their norm: clip_norm must be 0, got {}", o.clip_norm));
  if (o.accumulate > 1) refuse(fmt::format("it cannot accumulate batches: accumulate must be 1, got {}", o.accumulate));
  if (o.parts > 1) refuse(fmt::format("it cannot split batches into parts: parts must be 1, got {}", o.parts));
  if (ranks_or_single(o.ranks).size() > 1)
    refuse(fmt::format("it works in a single process only, and there are {}; Sharding::gradients shards gradients",
                       o.ranks->size()));
}

void check(const TrainerOptions& o) {
  check_at_least("steps", o.steps, 1);
  check_at_least("accumulate", o.accumulate, 1);
  check_at_least("parts", o.parts, 1);
  check_at_least("keep_last", o.keep_last, 1);
  check_at_least("log_every", o.log_every, 1);
  for (const auto& [name, value] : {std::pair("evaluate_every", o.evaluate_every),
                                    {"patience", o.patience},
                                    {"checkpoint_every", o.checkpoint_every},
                                    {"keep_best", o.keep_best},
                                    {"average_last", o.average_last},
                                    {"average_best", o.average_best}})
    check_at_least(name, value, 0);
  check_not_negative("seconds", o.seconds);
  check_not_negative("clip_norm", o.clip_norm);
  if (o.step_in_backward) check_step_in_backward(o);
  if (!(o.ema_decay >= 0 && o.ema_decay < 1))
    raise(ErrorKind::config, "Trainer: ema_decay must be at least 0 and below 1, got {}", o.ema_decay);
  if (o.ema_decay > 0 && o.distributed.sharding == Sharding::parameters && ranks_or_single(o.ranks).size() > 1)
    raise(ErrorKind::config,
          "Trainer: ema_decay {} needs a second copy of all parameters on every rank, but the ranks shard them "
          "(Sharding::parameters)",
          o.ema_decay);
  const bool folder = o.folder || !o.out.empty();
  if (!folder && o.average_last + o.average_best > 0)
    raise(ErrorKind::config, "Trainer: averaging checkpoints requires a folder, but out is empty");
  const bool resumes = o.folder ? o.folder->resumes() : o.start == Start::resume;
  if (!folder && resumes) raise(ErrorKind::config, "Trainer: resuming requires a folder, but out is empty");
  if (o.load_model && !o.save_model)
    raise(ErrorKind::config, "Trainer: load_model reads what save_model writes, but save_model is not set");
  if (!o.resume_from.empty() && !resumes)
    raise(ErrorKind::config, "Trainer: resume_from is \"{}\", but start is not Start::resume", o.resume_from);
}

}  // namespace

const char* to_string(StopReason reason) {
  constexpr std::array kNames{"steps", "early stop", "interrupted", "time"};
  return kNames[static_cast<size_t>(reason)];
}

double mean_loss(const std::vector<LossSum>& losses) {
  LossSum all;
  for (const LossSum& loss : losses) all += loss;
  return all.sum / all.tokens;
}

Trainer::Trainer(nn::Module& model, optim::Optimizer& optimizer, TrainerOptions options)
    : model_(model), optimizer_(optimizer), options_(std::move(options)) {
  check(options_);
  model.state_dict();  // fails for two tensors of one name, of which a checkpoint would lose one
  folder_ = options_.folder;
  if (!folder_ && !options_.out.empty()) folder_ = open_run_folder(options_.ranks, options_.out, options_.start);
}

Trainer::~Trainer() = default;

TrainResult Trainer::run(BatchSource& source, const LearnErased& learn, const std::function<Evaluation()>& evaluate) {
  return TrainingRun(model_, optimizer_, options_, folder_.get(), source, learn, evaluate).train();
}

}  // namespace tape::train
