#pragma once

#include <memory>

#include <nlohmann/json.hpp>

#include "tools/common.h"
#include "train/doctor.h"
#include "train/task.h"
#include "train/trainer.h"

namespace tape::tools {

/// What `tapeformer train` shares among its tasks.
struct TrainArguments {
  train::TaskOptions run;
  bool resume = false;
  bool overwrite = false;
  bool doctor = false;
  Common common;
};

/// Options of every task: folder, preset, schedule, checkpoints, threads. `presets` says what the names mean.
void add_run_options(Command& command, TrainArguments& arguments, const std::string& presets);

/// What stands before every run: threads, the machine, signals, the report. The options are then ready for the library.
void begin_run(TrainArguments& arguments);

/// Prints a diagnosis; the exit code is 1 where the set-up cannot learn.
int show(const train::Diagnosis& diagnosis);

/// Says how a run ended and where it lies, and with --json ends with `figures` and what every run has as one line.
/// Gives the exit code.
int end_run(const TrainArguments& arguments, const train::TrainResult& result, nlohmann::ordered_json figures);

}  // namespace tape::tools
