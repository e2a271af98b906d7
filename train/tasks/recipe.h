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

/// Training hyperparameters of a preset: defaults of TaskOptions.
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

/// The recipe with the given options applied. With fewer steps than the preset's, the default warm-up is at most a
/// tenth of them. `batches` is the number per epoch; 0 if unknown, then epochs are ignored. Throws Error (config)
/// naming an option that is out of range.
Recipe apply_options(Recipe recipe, const TaskOptions& options, int64_t batches = 0);

/// Throws Error (config) for epochs out of range, or given together with steps.
void check_length(const TaskOptions& options);

/// Number of steps in this many passes over the data, at least 1.
int64_t steps_of(double epochs, int64_t batches, int64_t accumulate);

/// As written to the log.
nlohmann::ordered_json to_json(const Recipe& recipe);

/// Trainer options for a recipe, with progress output to `out`. The caller adds schedule, description and saving.
TrainerOptions trainer_options(const TaskOptions& options, const Recipe& recipe, std::shared_ptr<RunFolder> folder,
                               std::ostream& out, const TerminalInfo& terminal);

/// Throws Error (config) for the first option that is set although the model of init determines it.
void check_not_set_with_init(const char* task, std::initializer_list<std::pair<const char*, bool>> given);

/// Throws Error (config) for a preset of `with_init` while there is no model to start from.
template <class Preset>
void check_needs_no_init(const char* task, const std::vector<Preset>& with_init, const std::string& name) {
  for (const Preset& preset : with_init)
    if (name == preset.name)
      raise(ErrorKind::config, "{}: preset \"{}\" requires init, the model to start from", task, name);
}

/// The preset with this name; the first for "". Throws Error (config) naming the known ones.
template <class Preset>
const Preset& find_preset(const char* task, const std::vector<Preset>& presets, const std::string& name) {
  std::string known;
  for (const Preset& preset : presets) {
    if (name.empty() || name == preset.name) return preset;
    known += (known.empty() ? "" : ", ") + preset.name;
  }
  raise(ErrorKind::config, "{}: unknown preset \"{}\"; known: {}", task, name, known);
}

}  // namespace tape::train
