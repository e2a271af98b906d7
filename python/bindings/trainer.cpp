#include "training.h"

namespace tape::python {
namespace {

using nb::arg;

struct PythonBatch {
  HeldObject value;
  int64_t examples = 0;
};

train::BatchLoss batch_loss(const nb::object& learn, const PythonBatch& batch) {
  const nb::gil_scoped_acquire gil;
  const nb::object result = learn(batch.value.get());
  if (nb::isinstance<Tensor>(result)) return {nb::cast<Tensor>(result), batch.examples};
  const auto [loss, tokens] = nb::cast<std::pair<Tensor, int64_t>>(result);
  return {loss, tokens};
}

/// A loss, or a dictionary with "loss", perhaps "score", and metrics.
train::Evaluation evaluation(const nb::object& evaluate) {
  const nb::gil_scoped_acquire gil;
  const nb::object result = evaluate();
  if (!nb::isinstance<nb::dict>(result)) return {.loss = nb::cast<double>(nb::float_(result))};
  train::Evaluation found;
  bool has_loss = false;
  for (const auto& [key, value] : nb::cast<nb::dict>(result)) {
    const auto name = nb::cast<std::string>(key);
    const double number = nb::cast<double>(nb::float_(value));
    if (name == "loss")
      found.loss = number, has_loss = true;
    else if (name == "score")
      found.score = number;
    else
      found.metrics[name] = number;
  }
  if (!has_loss) raise(ErrorKind::config, "Trainer: evaluate() must return a loss, or a dict with \"loss\"");
  return found;
}

train::Loader<PythonBatch> loader_of(const nb::object& loader) {
  const HeldObject plan(loader.attr("plan")), collate(loader.attr("collate"));
  return train::Loader<PythonBatch>({.plan =
                                         [plan](int64_t epoch) {
                                           const nb::gil_scoped_acquire gil;
                                           return train::EpochPlan(
                                               nb::cast<std::vector<std::vector<int64_t>>>(plan.get()(epoch)));
                                         },
                                     .collate =
                                         [collate](const std::vector<int64_t>& indices) {
                                           const nb::gil_scoped_acquire gil;
                                           return PythonBatch{HeldObject(collate.get()(indices)), std::ssize(indices)};
                                         },
                                     .prefetch = 0});
}

/// A callback that passes a dictionary to a function of Python.
train::TrainerCallbacks callbacks_of(const nb::object& on_step, const nb::object& on_checkpoint) {
  train::TrainerCallbacks callbacks;
  if (!on_step.is_none())
    callbacks.on_step = [held = HeldObject(on_step)](const train::StepEvent& event) {
      const nb::gil_scoped_acquire gil;
      nb::dict values;
      values["step"] = event.step;
      values["epoch"] = event.epoch;
      values["loss"] = event.loss;
      values["lr"] = event.lr;
      values["grad_norm"] = event.grad_norm;
      values["tokens"] = event.tokens;
      values["tokens_per_second"] = event.tokens_per_second;
      values["seconds"] = event.seconds;
      held.get()(values);
    };
  if (!on_checkpoint.is_none())
    callbacks.on_checkpoint = [held = HeldObject(on_checkpoint)](int64_t step, const std::string& folder, bool best) {
      const nb::gil_scoped_acquire gil;
      held.get()(step, folder, best);
    };
  return callbacks;
}

/// Trainer.fit() of Python, whose other options are in `given`.
TrainingResult fit(nn::Module& model, optim::Optimizer& optimizer, const nb::object& loader, const nb::object& learn,
                   const nb::object& evaluate, const nb::object& interrupted, const nb::object& save_model,
                   const nb::object& on_step, const nb::object& on_checkpoint, bool progress,
                   train::TrainerOptions options) {
  train::Loader<PythonBatch> batches = loader_of(loader);
  const HeldObject learns(learn), evaluates(evaluate), stops(interrupted), saves(save_model);
  const bool has_evaluate = !evaluate.is_none(), has_save = !save_model.is_none();
  options.callbacks = callbacks_of(on_step, on_checkpoint);
  options.interrupted = [stops] {
    const nb::gil_scoped_acquire gil;
    return nb::cast<bool>(stops.get()());
  };
  if (has_save)
    options.save_model = [saves](const std::string& folder) {
      const nb::gil_scoped_acquire gil;
      saves.get()(folder);
    };
  options.report = [](const std::string& folder) { inspect::write_run_report(folder); };
  const nb::gil_scoped_release unlocked;
  Interruption interruption;
  TrainingResult result;
  {
    PythonOutput out(interruption);
    if (progress) options.progress = &out.stream(), options.terminal = PythonOutput::terminal();
    train::Trainer trainer(model, optimizer, options);
    result.run = trainer.fit(
        batches, [&](const PythonBatch& batch) { return batch_loss(learns.get(), batch); },
        has_evaluate ? [&] { return evaluation(evaluates.get()); } : std::function<train::Evaluation()>());
  }
  interruption.rethrow();
  result.folder = options.out;
  if (result.run.evaluation) {
    result.metrics = result.run.evaluation->metrics;
    result.metrics["loss"] = result.run.evaluation->loss;
  }
  return result;
}

}  // namespace

void bind_trainer(nb::module_& m) {
  m.def(
      "_fit",
      [](nn::Module& model, optim::Optimizer& optimizer, const nb::object& loader, const nb::object& learn,
         const nb::object& evaluate, const nb::object& interrupted, const nb::object& save_model,
         const nb::object& on_step, const nb::object& on_checkpoint, bool progress, const std::string& out,
         train::Start start, const std::string& resume_from, int64_t steps, double seconds, optim::Schedule* schedule,
         double clip_norm, int64_t accumulate, bool step_in_backward, MatmulPrecision precision, int64_t evaluate_every,
         int64_t patience, int64_t checkpoint_every, int64_t keep_last, int64_t keep_best, double ema_decay,
         int64_t average_last, int64_t average_best, std::optional<uint64_t> seed, int64_t log_every,
         const std::string& task, const std::string& settings_json, bool allow_changes, bool allow_unregistered) {
        train::TrainerOptions options;
        options.out = out, options.start = start, options.resume_from = resume_from;
        options.steps = steps, options.seconds = seconds, options.schedule = schedule;
        options.clip_norm = clip_norm, options.accumulate = accumulate, options.step_in_backward = step_in_backward;
        options.precision = precision;
        options.evaluate_every = evaluate_every, options.patience = patience;
        options.checkpoint_every = checkpoint_every, options.keep_last = keep_last, options.keep_best = keep_best;
        options.ema_decay = ema_decay, options.average_last = average_last, options.average_best = average_best;
        options.seed = seed, options.log_every = log_every;
        options.describe = {.task = task, .options_json = settings_json};
        options.settings_json = settings_json;
        options.allow_changes = allow_changes, options.allow_unregistered = allow_unregistered;
        return fit(model, optimizer, loader, learn, evaluate, interrupted, save_model, on_step, on_checkpoint, progress,
                   std::move(options));
      },
      arg("model"), arg("optimizer"), arg("loader"), arg("learn"), arg("evaluate").none(), nb::kw_only(),
      arg("interrupted"), arg("save_model").none(), arg("on_step").none(), arg("on_checkpoint").none(), arg("progress"),
      arg("out"), arg("start"), arg("resume_from"), arg("steps"), arg("seconds"), arg("schedule").none(),
      arg("clip_norm"), arg("accumulate"), arg("step_in_backward"), arg("precision"), arg("evaluate_every"),
      arg("patience"), arg("checkpoint_every"), arg("keep_last"), arg("keep_best"), arg("ema_decay"),
      arg("average_last"), arg("average_best"), arg("seed").none(), arg("log_every"), arg("task"), arg("settings_json"),
      arg("allow_changes"), arg("allow_unregistered"));
}

}  // namespace tape::python
