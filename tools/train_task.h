#pragma once

#include <functional>
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

/// What `tapeformer train` shares among its tasks.
struct TrainArguments {
  train::TaskOptions run;
  bool resume = false;
  bool overwrite = false;
  bool doctor = false;
  std::vector<std::string> lr_of;  // PATTERN=RATE
  std::optional<optim::MomentDtype> moments = {};
  std::string memory_limit;  // 512M, 2G
  Together together;
  std::unique_ptr<train::World> world;  // the processes that mpirun started with this one
  Common common;
  std::function<std::string()> kept = {};  // what the run's folder keeps of the arguments
};

/// Whether this process speaks and writes for all that train together.
bool is_root(const TrainArguments& arguments);

/// Options of every task: folder, preset, schedule, checkpoints, threads. What the presets stand for is in the footer.
void add_run_options(Command& command, TrainArguments& arguments, const std::vector<std::string>& presets);

/// The size of a model, alike for every task.
void add_model_options(Command& command, std::optional<int64_t>& layers, std::optional<int64_t>& width,
                       std::optional<int64_t>& heads);

/// Adapters as the commands that train them are told of them.
struct AdapterArguments {
  train::AdapterTraining adapters;
  std::optional<int64_t> rank;
  std::optional<double> alpha;
};

/// --lora-rank, which asks for them, and what they are like; all need `init`.
void add_adapter_options(Command& command, AdapterArguments& arguments, const Option& init);

/// None without --lora-rank.
std::optional<train::AdapterTraining> adapters_of(const AdapterArguments& arguments);

/// What stands before every run: the other processes, threads, the machine, signals, the report. The options are then
/// ready for the library; of several processes all but the first are silent from here on.
void begin_run(TrainArguments& arguments);

/// Prints a diagnosis; the exit code is 1 where the set-up cannot learn.
int show(const train::Diagnosis& diagnosis);

/// Prints how a run ended and where it lies, then commands to go on with (not with --json): `next` are those of a model
/// of the task, in which {0} stands for this program, {1} for the model's folder and {2} for a text to read, all three
/// as a shell reads them. Of an interrupted run it is the command that resumes it.
void print_end(const TrainArguments& arguments, const train::TrainResult& result, const std::vector<std::string>& next);
/// The part of print_end() that is of commands: "To go on:" and a line for each.
void print_next(const TrainArguments& arguments, const train::TrainResult& result,
                const std::vector<std::string>& next);

/// Calls what only shows a trained model. An exception of it becomes a warning on standard output: the run is saved.
void decorate(const char* what, const std::function<void()>& show);

/// With --json ends with `figures` and what every run has as one line. Gives the exit code.
int end_run(const TrainArguments& arguments, const train::TrainResult& result, nlohmann::ordered_json figures);

}  // namespace tape::tools
