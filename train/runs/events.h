#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tape::train {

// What happens during a run: made by the Trainer and by the user's evaluation, seen by callbacks, written to the log.

/// An input with what should have come out and what did.
struct Sample {
  std::string input, reference, output;
};

/// How often a label (row, the truth) was taken for another (column).
struct Confusion {
  std::vector<std::string> labels;
  std::vector<std::vector<int64_t>> counts;
};

/// What evaluating the model gave.
struct Evaluation {
  double loss = 0;
  std::map<std::string, double> metrics = {};  ///< {"bleu", 31.2}: shown and logged
  std::optional<double> score = {};            ///< higher is better; -loss where it is not given. NaN is worse than all
  std::vector<Sample> samples = {};            ///< a few, for the report
  /// Gives samples that cost computation or can fail. The Trainer calls it after the checkpoint of the step is written,
  /// in evaluation mode and with the weights that were evaluated; an exception becomes a warning of the run.
  std::function<std::vector<Sample>()> draw_samples = {};
  std::string drawn = {};  ///< how these were chosen, where it is known
  std::optional<Confusion> confusion = {};
};

/// One update of the parameters.
struct StepEvent {
  int64_t step = 0;      ///< from 1
  double epoch = 0;      ///< epochs done, the running one in part: 1.25
  double loss = 0;       ///< mean over the tokens of the step
  double lr = 0;         ///< that the step used
  double grad_norm = 0;  ///< before clipping
  int64_t tokens = 0;    ///< of the step
  double tokens_per_second = 0;
  double seconds = 0;  ///< since the run began, the time before a resume included
};

/// What the log says of a run at its start.
struct RunDescription {
  std::string task = {};                   ///< "translation"
  int64_t parameters = 0;                  ///< filled in by the Trainer
  std::string options_json = {};           ///< a JSON object of the settings; "" for none
  std::optional<double> loss_floor = {};   ///< the smallest training loss there can be, where it is not 0
  std::optional<double> chance_loss = {};  ///< of guessing, log(vocabulary) for example: warnings compare with it
  std::string command_json = {};           ///< what a later call needs to go on, written to kRunCommand; "" for none
  std::string model = {};                  ///< a text that shows the model; the tree of its modules where it is ""
};

}  // namespace tape::train
