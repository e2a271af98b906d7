#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "events.h"

namespace tape::train {

/// The log of a run: one JSON object per line, each passed to the system immediately, so that a kill loses at most the
/// line being written.
///
///     {"event":"start","time":"2026-01-01T00:00:00Z","task":..,"parameters":n,"machine":..,"options":{..},"loss_floor":x,"chance_loss":x,"model":..}
///     {"event":"step","step":n,"epoch":1.25,"loss":x,"lr":x,"grad_norm":x,"tokens":n,"tokens_per_second":x,"seconds":x}
///     {"event":"eval","step":n,"seconds":x,"loss":x,"metrics":{"bleu":31.2}}
///     {"event":"samples","step":n,"samples":[{"input":"..","reference":"..","output":".."}],"drawn":".."}
///     {"event":"confusion","step":n,"labels":["a","b"],"counts":[[..],[..]]}
///     {"event":"checkpoint","step":n,"folder":"checkpoint-1000","best":true}
///     {"event":"resume","step":n}
///     {"event":"warning","step":n,"text":".."}
///     {"event":"end","step":n,"seconds":x,"reason":"steps","metrics":{..}}
///
/// loss_floor and chance_loss are present if known. Non-finite numbers are written as null; invalid UTF-8 is replaced
/// by U+FFFD. Throws Error (io) naming the file.
class Log {
 public:
  /// Appends to the file; "" makes a log that writes nothing.
  explicit Log(std::string path);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void start(const RunDescription& run);
  void step(const StepEvent& event);
  /// The evaluation, and its confusion matrix if there is one. `weights` names the evaluated weights if they are not
  /// the model of that step: "weights" in the line.
  void evaluation(int64_t step, double seconds, const Evaluation& evaluation, const std::string& weights = "");
  /// The samples of an evaluation; writes nothing if there are none.
  void samples(int64_t step, const Evaluation& evaluation);
  void checkpoint(int64_t step, const std::string& folder, bool best);
  void resume(int64_t step);
  void warning(int64_t step, const std::string& text);
  void end(int64_t step, double seconds, const std::string& reason, const std::map<std::string, double>& metrics);
  /// Any other event.
  void write(const nlohmann::ordered_json& event);

 private:
  std::string path_;
  int descriptor_ = -1;
};

/// Truncates a log after a step: drops the lines of later steps, and an incomplete last line left by a kill. The file
/// is replaced atomically. A missing log stays missing.
void truncate_log(const std::string& path, int64_t last_step);

}  // namespace tape::train
