#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "tools/common.h"
#include "train/distributed/world.h"
#include "train/doctor/doctor.h"
#include "train/init/adapter_training.h"
#include "train/tasks/task.h"
#include "train/trainer/trainer.h"

namespace tape::tools {

/// Arguments shared by all tasks of `tapeformer train`.
struct TrainArguments {
  train::TaskOptions run;
  bool resume = false;
  bool overwrite = false;
  bool doctor = false;
  std::vector<std::string> lr_of;  // PATTERN=RATE
  std::optional<optim::MomentDtype> moments = {};
  std::optional<std::string> memory_limit;  // 512M, 2G
  DistributedArguments together;
  std::unique_ptr<train::World> world;  // the processes that mpirun started with this one
  Common common;
  std::unique_ptr<DeviceScope> on_device = {};
  std::function<std::string()> kept = {};              // the arguments to save in the run's folder, as JSON
  std::function<bool(const std::string&)> given = {};  // whether an option is in the command line itself
};

/// Throws Error (config) for the first of these options that is in the command line:
/// `--vocab-size: has no effect with --level char`. Those that a resumed run has saved are not refused.
void refuse_given(const TrainArguments& arguments, std::initializer_list<const char*> options,
                  const std::string& reason);

/// Whether this process prints and writes for all processes of the training run.
bool is_root(const TrainArguments& arguments);

/// Adds the options of all tasks: folder, preset, schedule, checkpoints, threads. The footer describes the presets.
void add_run_options(Command& command, TrainArguments& arguments, const std::vector<std::string>& presets);

/// Adds the options of the model size.
void add_model_options(Command& command, std::optional<int64_t>& layers, std::optional<int64_t>& width,
                       std::optional<int64_t>& heads);

/// Command-line arguments of adapters.
struct AdapterArguments {
  train::AdapterTraining adapters;
  std::optional<int64_t> rank;
  std::optional<double> alpha;
};

/// Adds --lora-rank, which enables adapters, and their other options. All need `init`.
void add_adapter_options(Command& command, AdapterArguments& arguments, const Option& init);

/// Adapter options; empty without --lora-rank.
std::optional<train::AdapterTraining> adapters_of(const AdapterArguments& arguments);

/// Prepares a run: other processes, threads, signals, the report; prints the machine. Afterwards the options are ready
/// for the library, and all processes except the first are silent.
void begin_run(TrainArguments& arguments);

/// Prints a diagnosis. Returns exit code 1 if the setup cannot learn.
int show(const train::Diagnosis& diagnosis);

/// Prints how a run ended, where it was saved, and the next commands (not with --json). In `next`, {0} stands for this
/// program, {1} for the model's folder, {2} for an example text and {3} for this program's folder, each quoted for a
/// shell. For an interrupted run, prints the command that resumes it instead.
void print_end(const TrainArguments& arguments, const train::TrainResult& result, const std::vector<std::string>& next);
/// The commands part of print_end(): "Next steps:" and a line for each command.
void print_next(const TrainArguments& arguments, const train::TrainResult& result,
                const std::vector<std::string>& next);

/// Calls a function that only demonstrates the trained model. Turns its exception into a warning on standard output,
/// since the run is already saved.
void run_or_warn(const char* what, const std::function<void()>& show);

/// With --json, prints `figures` and the values common to all runs as one line. Returns the exit code.
int end_run(const TrainArguments& arguments, const train::TrainResult& result, nlohmann::ordered_json figures);

}  // namespace tape::tools
