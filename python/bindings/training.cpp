#include <fmt/format.h>

#include "training.h"

#include <unistd.h>

namespace tape::python {

// --- output ---

TerminalInfo PythonOutput::terminal() {
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object out = nb::module_::import_("sys").attr("stdout");
    if (nb::cast<bool>(out.attr("isatty")())) return terminal_info(nb::cast<int>(out.attr("fileno")()));
  } catch (const nb::python_error&) {  // not a file
  }
  return {};
}

std::streambuf::int_type PythonOutput::Buffer::overflow(int_type character) {
  if (character != traits_type::eof()) text_ += static_cast<char>(character);
  return 0;
}

std::streamsize PythonOutput::Buffer::xsputn(const char* text, std::streamsize size) {
  text_.append(text, static_cast<size_t>(size));
  // Programs that read the output see lines as they come.
  if (text_.find('\n') != std::string::npos) sync();
  return size;
}

int PythonOutput::Buffer::sync() {
  if (text_.empty()) return 0;
  const nb::gil_scoped_acquire gil;
  try {
    const nb::object out = nb::module_::import_("sys").attr("stdout");
    out.attr("write")(nb::steal(PyUnicode_DecodeUTF8(text_.data(), static_cast<Py_ssize_t>(text_.size()), "replace")));
    out.attr("flush")();
  } catch (nb::python_error& error) {
    interruption_.note(std::move(error));
  }
  text_.clear();
  return 0;
}

// --- interruption ---

std::function<bool()> Interruption::check() {
  return [this] {
    const nb::gil_scoped_acquire gil;
    if (!raised_ && PyErr_CheckSignals() != 0) raised_.emplace();
    return raised_.has_value();
  };
}

void Interruption::note(nb::python_error error) {
  // A closed stdout does not end a run.
  if (!raised_ && !error.matches(PyExc_Exception)) raised_.emplace(std::move(error));
}

void Interruption::rethrow() {
  if (!raised_) return;
  const nb::gil_scoped_acquire gil;
  nb::python_error error = std::move(*raised_);
  raised_.reset();
  throw error;
}

std::optional<DeviceScope> use_device(const std::optional<std::string>& device) {
  if (!device) return std::nullopt;
  const Device parsed = parse_device(*device);
  describe(parsed);  // an Error before anything is read
  return std::optional<DeviceScope>(std::in_place, parsed);
}

// --- results ---

using Metrics = std::map<std::string, double>;

Metrics metrics_of(const train::TranslationResult& result) {
  return {{"valid_loss", result.valid_loss}, {"valid_bleu", result.valid_bleu}};
}
Metrics metrics_of(const train::LanguageModelResult& result) { return {{"valid_loss", result.valid_loss}}; }
Metrics metrics_of(const train::ClassificationResult& result) {
  return {{"valid_loss", result.valid_loss},
          {"valid_accuracy", result.valid_accuracy},
          {"valid_macro_f1", result.valid_macro_f1}};
}
Metrics metrics_of(const train::MaskedLMResult& result) {
  return {{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}};
}
Metrics metrics_of(const train::TokenClassificationResult& result) {
  Metrics metrics{{"valid_loss", result.valid_loss}, {"valid_accuracy", result.valid_accuracy}};
  if (result.valid_f1) metrics["valid_f1"] = *result.valid_f1;
  return metrics;
}
Metrics metrics_of(const train::TextEmbeddingResult& result) {
  return {{"valid_loss", result.valid_loss}, {"valid_recall", result.valid_recall}};
}

void bind_training(nb::module_& m) {
  using train::Diagnosis;
  structure<Diagnosis>(m, "Diagnosis", "Whether a setup can overfit one batch.", "can_learn", &Diagnosis::can_learn,
                       "Whether all values stayed finite and the loss fell at least half way to floor.", "first_loss",
                       &Diagnosis::first_loss, "Loss of the first step.", "last_loss", &Diagnosis::last_loss,
                       "Loss of the last step.", "floor", &Diagnosis::floor, "Minimum of the loss.", "no_gradient",
                       &Diagnosis::no_gradient, "Trainable parameters that received no gradient.", "zero_gradient",
                       &Diagnosis::zero_gradient, "Those whose gradient was zero in every observed step.", "dead",
                       &Diagnosis::dead, "Units that are always 0.", "lines", &Diagnosis::lines,
                       "The report as text, the verdict last.");
  nb::class_<TrainingResult> type(m, "TrainingResult", nb::dynamic_attr(),
                                  "Result of a training run. losses() reads the loss of each step from the run's log.");
  const auto define = [&type](const char* name, auto get, const char* doc) { type.def_prop_ro(name, get, doc); };
  define(
      "folder", [](const TrainingResult& self) { return self.folder; }, "Folder of the run, with the trained model.");
  define(
      "metrics", [](const TrainingResult& self) { return self.metrics; },
      "Validation of the final weights: 'valid_loss' and the task's own; empty if a run ended without one.");
  define(
      "steps", [](const TrainingResult& self) { return self.run.step; }, "Number of updates in total.");
  define(
      "resumed_from", [](const TrainingResult& self) { return self.run.resumed_from; },
      "Step of the checkpoint from which the run resumed; 0: none.");
  define(
      "loss", [](const TrainingResult& self) { return self.run.loss; }, "Running mean of the steps' losses.");
  define(
      "seconds", [](const TrainingResult& self) { return self.run.seconds; },
      "Total time, including time before a resume.");
  define(
      "tokens_per_second", [](const TrainingResult& self) { return self.run.tokens_per_second; },
      "Speed, without evaluations and checkpoints.");
  define(
      "reason", [](const TrainingResult& self) { return self.run.reason; }, "Why the run ended.");
  define(
      "weights", [](const TrainingResult& self) { return self.run.weights; },
      "Name of the model's weights: 'step 800', 'average of the last 5 checkpoints', ...");
  define(
      "checkpoint", [](const TrainingResult& self) { return self.run.checkpoint; },
      "Folder of the newest checkpoint; '' without a run folder.");
  define(
      "warnings", [](const TrainingResult& self) { return self.run.warnings; }, "All warnings of the run, in order.");
  type.def("__repr__", [](const TrainingResult& self) {
    std::string text = fmt::format("TrainingResult({} steps in {} ({}), loss {:.4f}", self.run.step,
                                   train::format_duration(self.run.seconds), to_string(self.run.reason), self.run.loss);
    for (const auto& [name, value] : self.metrics) text += fmt::format(", {} {:.4g}", name, value);
    return text + fmt::format(", folder '{}')", self.folder);
  });
}

}  // namespace tape::python
