#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../train/runs/events.h"

namespace tape::inspect {

/// For missing values, and for null, which is how JSON stores NaN and infinity.
inline constexpr double missing_value = std::numeric_limits<double>::quiet_NaN();

/// One parameter update.
struct LoggedStep {
  int64_t step = 0;
  double epoch = missing_value;
  double seconds = missing_value;  ///< since the start of the run, without pauses between interruption and resume
  double loss = missing_value;
  double lr = missing_value;
  double grad_norm = missing_value;
  double tokens_per_second = missing_value;
};

/// One evaluation on the validation data. Metrics are in the order of the log.
struct LoggedEval {
  int64_t step = 0;
  double seconds = missing_value;
  double loss = missing_value;
  std::vector<std::pair<std::string, double>> metrics = {};
  std::string weights = {};  ///< the weights evaluated, if not those of the model at that step
};

struct LoggedSamples {
  int64_t step = 0;
  std::vector<train::Sample> samples = {};
  std::string drawn = {};  ///< how the samples were selected, if logged
};

/// A confusion matrix, counts[truth][prediction].
struct LoggedConfusion {
  int64_t step = 0;
  std::vector<std::string> labels = {};
  std::vector<std::vector<int64_t>> counts = {};
};

/// An event at a step: "checkpoint", "resume", "warning" or "stop". `text` is the checkpoint's folder, the warning, or
/// the reason of a stop after which the run was resumed.
struct LoggedMark {
  std::string_view kind;
  int64_t step = 0;
  std::string text = {};
  bool best = false;
};

/// How the run ended.
struct LoggedEnd {
  int64_t step = 0;
  double seconds = missing_value;
  std::string reason = {};
  std::vector<std::pair<std::string, double>> metrics = {};
};

/// Contents of a run's log.jsonl. Steps are in ascending order without duplicates: steps repeated after a resume
/// replace the earlier ones.
struct RunLog {
  nlohmann::ordered_json start = nlohmann::ordered_json::object();  ///< fields of the start event
  std::vector<LoggedStep> steps = {};
  std::vector<LoggedEval> evals = {};
  std::vector<LoggedSamples> samples = {};
  std::vector<LoggedConfusion> confusions = {};
  std::vector<LoggedMark> marks = {};
  std::vector<LoggedEnd> ends = {};  ///< at most one; empty while the run continues or if it was killed
  int64_t steps_done_again = 0;      ///< number of logged steps that later ones replaced
  int64_t unknown_events = 0;        ///< number of lines of an unknown kind
};

/// Parses a log; `where` names it in errors. A last line that has no line break and is not valid JSON was cut short and
/// is ignored. Throws Error (format) `where: line 12: ...` if a line is not an event of a run.
RunLog parse_run_log(const std::string& text, const std::string& where);

}  // namespace tape::inspect
