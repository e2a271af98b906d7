#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tape::train {

// Events of a run: created by the Trainer and the user's evaluation, passed to callbacks, written to the log.

/// An input with its expected and actual output.
struct Sample {
  std::string input, reference, output;
};

/// Confusion matrix: how often a label (row, the truth) was predicted as another (column).
struct Confusion {
  std::vector<std::string> labels;
  std::vector<std::vector<int64_t>> counts;
};

/// Result of evaluating the model.
struct Evaluation {
  double loss = 0;
  std::map<std::string, double> metrics = {};  ///< {"bleu", 31.2}: printed and logged
  std::optional<double> score = {};            ///< higher is better; default -loss. NaN is worse than any value
  std::vector<Sample> samples = {};            ///< a few, for the report
  /// Makes samples that cost computation or can fail. The Trainer calls it after writing the checkpoint of the step, in
  /// evaluation mode and with the evaluated weights; an exception becomes a warning of the run.
  std::function<std::vector<Sample>()> draw_samples = {};
  std::string drawn = {};  ///< how the samples were chosen, if known
  std::optional<Confusion> confusion = {};
};

/// One update of the parameters.
struct StepEvent {
  int64_t step = 0;      ///< from 1
  double epoch = 0;      ///< number of epochs, fractional: 1.25
  double loss = 0;       ///< mean over the tokens of the step
  double lr = 0;         ///< learning rate of the step
  double grad_norm = 0;  ///< before clipping
  int64_t tokens = 0;    ///< tokens in the step
  double tokens_per_second = 0;
  double seconds = 0;  ///< since the run began, including the time before a resume
};

/// What the log records about a run at its start.
struct RunDescription {
  std::string task = {};                   ///< "translation"
  int64_t parameters = 0;                  ///< set by the Trainer
  std::string options_json = {};           ///< a JSON object of the settings; "" for none
  std::optional<double> loss_floor = {};   ///< minimum of the training loss, if not 0
  std::optional<double> chance_loss = {};  ///< loss of random guessing, as log(vocabulary); for divergence warnings
  std::string command_json = {};           ///< what a later call needs to resume, saved as kRunCommand; "" for none
  std::string model = {};                  ///< text that describes the model; "": its module tree
};

}  // namespace tape::train
