#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "../train/runs/events.h"

namespace tape::inspect {

/// Stands where a log has no number, or null as JSON writes NaN and infinity.
inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// An update of the parameters.
struct LoggedStep {
  int64_t step = 0;
  double epoch = no_number;
  double seconds = no_number;  ///< since the run began, pauses between interruption and resume not counted
  double loss = no_number;
  double lr = no_number;
  double grad_norm = no_number;
  double tokens_per_second = no_number;
};

/// An evaluation on the validation data. Metrics by name, in the log's order.
struct LoggedEval {
  int64_t step = 0;
  double seconds = no_number;
  double loss = no_number;
  std::vector<std::pair<std::string, double>> metrics = {};
  std::string weights = {};  ///< what was evaluated, where it was not the model of that step
};

struct LoggedSamples {
  int64_t step = 0;
  std::vector<train::Sample> samples = {};
  std::string drawn = {};  ///< how these were chosen, where it was logged
};

/// counts[truth][prediction].
struct LoggedConfusion {
  int64_t step = 0;
  std::vector<std::string> labels = {};
  std::vector<std::vector<int64_t>> counts = {};
};

/// Something that happened at a step: "checkpoint", "resume", "warning" or "stop". `text` is the checkpoint's folder,
/// the warning, or the reason of a stop that the run was resumed from.
struct LoggedMark {
  std::string_view kind;
  int64_t step = 0;
  std::string text = {};
  bool best = false;
};

/// How the run ended.
struct LoggedEnd {
  int64_t step = 0;
  double seconds = no_number;
  std::string reason = {};
  std::vector<std::pair<std::string, double>> metrics = {};
};

/// What a run's log.jsonl says. Steps are in ascending order, each there once: what was done again after a resume
/// replaces what was done before it.
struct RunLog {
  nlohmann::ordered_json start = nlohmann::ordered_json::object();  ///< the fields of the start event
  std::vector<LoggedStep> steps = {};
  std::vector<LoggedEval> evals = {};
  std::vector<LoggedSamples> samples = {};
  std::vector<LoggedConfusion> confusions = {};
  std::vector<LoggedMark> marks = {};
  std::vector<LoggedEnd> ends = {};  ///< none while it runs, or when it was killed; never more than one
  int64_t steps_done_again = 0;      ///< logged steps that later ones replaced
  int64_t unknown_events = 0;        ///< lines of a kind that this reader does not know
};

/// Reads the lines of a log, `where` naming it in errors. A last line without a line break that is no JSON was cut and
/// is left out. Errors: format `where: line 12: ...` for a line that is no event of a run.
RunLog parse_run_log(const std::string& text, const std::string& where);

}  // namespace tape::inspect
