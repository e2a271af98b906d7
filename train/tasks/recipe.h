#pragma once

#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "../../optim/adamw.h"
#include "../trainer/trainer.h"
#include "task.h"

namespace tape::train {

/// How a preset trains: what TaskOptions leaves open.
struct Recipe {
  int64_t steps = 0;
  double seconds = 0;
  double lr = 0;
  int64_t warmup = 0;
  double dropout = 0;
  double weight_decay = 0;
  double clip_norm = 0;
  int64_t accumulate = 1;
  int64_t evaluate_every = 0;
  int64_t patience = 0;
  int64_t average_last = 0;
  double ema_decay = 0;
};

/// The recipe with what the options say in its place. A warm-up that is not given and longer than a tenth of fewer
/// steps becomes that tenth. `batches` is what an epoch has, where it is known; 0 looks at no epochs. Error (config)
/// naming what is out of range.
Recipe with_options(Recipe recipe, const TaskOptions& options, int64_t batches = 0);

/// Error (config) for epochs out of range, or given beside steps.
void check_length(const TaskOptions& options);

/// The steps of so many passes over the data, at least 1.
int64_t steps_of(double epochs, int64_t batches, int64_t accumulate);

/// As the log shows it.
nlohmann::ordered_json to_json(const Recipe& recipe);

/// The options of a Trainer that follows a recipe and shows its progress on `out`. The caller adds schedule,
/// description and saving.
TrainerOptions trainer_options(const TaskOptions& options, const Recipe& recipe, std::shared_ptr<RunFolder> folder,
                               std::ostream& out, const TerminalInfo& terminal);

/// Error (config) for the first option that is given though a model to go on with has its own.
void refuse_of_init(const char* task, std::initializer_list<std::pair<const char*, bool>> given);

/// The preset of a name; the first for "". Error (config) naming those that there are.
template <class Preset>
const Preset& find_preset(const char* task, const std::vector<Preset>& presets, const std::string& name) {
  std::string known;
  for (const Preset& preset : presets) {
    if (name.empty() || name == preset.name) return preset;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", preset.name);
  }
  raise(ErrorKind::config, "{}: preset \"{}\" is not one of {}", task, name, known);
}

}  // namespace tape::train
