#pragma once

// The built-in training tasks as functions of Python.
#include <exception>
#include <optional>
#include <ostream>
#include <streambuf>
#include <string>

#include "bindings.h"
#include "inspect/run_report/run_report.h"

namespace tape::python {

void bind_trainer(nb::module_& m);

/// Result of a training run, of any task.
struct TrainingResult {
  train::TrainResult run;
  std::string folder;                     // of the run
  std::map<std::string, double> metrics;  // of the final weights on the validation data
};

/// Calls Python's signal handlers before each batch of a run, so that Ctrl-C ends it with a checkpoint.
class Interruption {
 public:
  /// For TaskOptions::interrupted and TrainerOptions::interrupted; must not outlive this object.
  std::function<bool()> check();
  /// Ends the run at its next check with this exception, unless it is an ordinary one (Exception).
  void note(nb::python_error error);
  /// Throws what a handler raised: KeyboardInterrupt.
  void rethrow();

 private:
  std::optional<nb::python_error> raised_;
};

/// A stream to Python's sys.stdout. Handlers of signals may run while it writes.
class PythonOutput {
 public:
  explicit PythonOutput(Interruption& interruption) : buffer_(interruption), stream_(&buffer_) {}
  std::ostream& stream() { return stream_; }
  /// The terminal of sys.stdout, if it is one.
  static TerminalInfo terminal();

 private:
  class Buffer : public std::streambuf {
   public:
    explicit Buffer(Interruption& interruption) : interruption_(interruption) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() override { Buffer::sync(); }

   private:
    int_type overflow(int_type character) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

    Interruption& interruption_;
    std::string text_;
  };

  Buffer buffer_;
  std::ostream stream_;
};

/// Creates tensors on the device while it lives. Throws Error (device) if there is no such device.
std::optional<DeviceScope> use_device(const std::optional<std::string>& device);

std::map<std::string, double> metrics_of(const train::TranslationResult& result);
std::map<std::string, double> metrics_of(const train::LanguageModelResult& result);
std::map<std::string, double> metrics_of(const train::ClassificationResult& result);
std::map<std::string, double> metrics_of(const train::MaskedLMResult& result);
std::map<std::string, double> metrics_of(const train::TokenClassificationResult& result);
std::map<std::string, double> metrics_of(const train::TextEmbeddingResult& result);

/// Sets the options that depend on other ones, as the command does.
template <class Options>
void complete(Options& options) {
  if constexpr (requires { options.valid.fields; }) options.valid.fields = options.train.fields;
  if constexpr (requires { options.records; }) {
    const auto by_name = text::record_format_of(options.data);
    if (!options.records && by_name != text::RecordFormat::tsv) options.records = by_name;
  }
}

/// Runs a task train_*(), called without the GIL.
template <class Result, class Options>
TrainingResult run_task(Result (*task)(const Options&, std::ostream&, const TerminalInfo&), Options& options,
                        const std::optional<std::string>& device) {
  const auto scope = use_device(device);
  complete(options);
  Interruption interruption;
  options.run.interrupted = interruption.check();
  options.run.report = [](const std::string& folder) { inspect::write_run_report(folder); };
  std::optional<Result> result;
  {
    PythonOutput out(interruption);
    result = task(options, out.stream(), PythonOutput::terminal());
  }
  interruption.rethrow();
  return {result->run, options.run.out, result->run.evaluation ? metrics_of(*result) : std::map<std::string, double>()};
}

/// Runs a diagnosis examine_*().
template <class Options>
train::Diagnosis run_task(train::Diagnosis (*task)(const Options&, std::ostream&), Options& options,
                          const std::optional<std::string>& device) {
  const auto scope = use_device(device);
  complete(options);
  Interruption interruption;
  std::optional<train::Diagnosis> found;
  {
    PythonOutput out(interruption);
    found = task(options, out.stream());
  }
  interruption.rethrow();
  return *found;
}

/// Options that are themselves optional: set if their first field is.
inline void set_if_given(std::optional<train::DecoderInit>& to, train::DecoderInit&& given) {
  if (!given.folder.empty())
    to = std::move(given);
  else if (given.adapters || !given.freeze.empty())
    raise(ErrorKind::config, "language_model: adapters and freeze need init, the model to start from");
}

}  // namespace tape::python
