#include "train/runs/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/transfer.h"
#include "text/json.h"
#include "train/memory/machine.h"

namespace tape::train {
namespace {

using Json = nlohmann::ordered_json;

/// The step of a line; -1 for a line without one, nullopt if it is not a log line.
std::optional<int64_t> step_of(std::string_view line) {
  const Json event = Json::parse(line, nullptr, false);
  if (!event.is_object() || !event.contains("event")) return std::nullopt;
  const auto step = event.find("step");
  if (step == event.end()) return -1;
  return step->is_number_integer() ? std::optional(step->get<int64_t>()) : std::nullopt;
}

}  // namespace

Log::Log(std::string path) : path_(std::move(path)) {
  if (path_.empty()) return;
  descriptor_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (descriptor_ < 0) raise_errno(path_, "open", errno);
}

Log::~Log() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Log::write(const Json& event) {
  if (descriptor_ < 0) return;
  if (!write_all(descriptor_, dump_json(event) + "\n")) raise_errno(path_, "write", errno);
}

void Log::start(const RunDescription& run) {
  Json options = Json::object();
  if (!run.options_json.empty()) options = parse_json(run.options_json, "options of the run");
  Json event{{"event", "start"},
             {"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
             {"task", run.task},
             {"parameters", run.parameters},
             {"machine", to_string(machine())},
             {"options", std::move(options)}};
  if (run.loss_floor) event["loss_floor"] = *run.loss_floor;
  if (run.chance_loss) event["chance_loss"] = *run.chance_loss;
  event["model"] = run.model;
  write(event);
}

void Log::step(const StepEvent& event) {
  write({{"event", "step"},
         {"step", event.step},
         {"epoch", event.epoch},
         {"loss", event.loss},
         {"lr", event.lr},
         {"grad_norm", event.grad_norm},
         {"tokens", event.tokens},
         {"tokens_per_second", event.tokens_per_second},
         {"seconds", event.seconds}});
}

void Log::evaluation(int64_t step, double seconds, const Evaluation& evaluation, const std::string& weights) {
  Json event{{"event", "eval"}, {"step", step}, {"seconds", seconds}, {"loss", evaluation.loss}};
  event["metrics"] = evaluation.metrics;
  if (!weights.empty()) event["weights"] = weights;
  write(event);
  if (evaluation.confusion)
    write({{"event", "confusion"},
           {"step", step},
           {"labels", evaluation.confusion->labels},
           {"counts", evaluation.confusion->counts}});
}

void Log::samples(int64_t step, const Evaluation& evaluation) {
  if (evaluation.samples.empty()) return;
  Json samples = Json::array();
  for (const Sample& sample : evaluation.samples)
    samples.push_back({{"input", sample.input}, {"reference", sample.reference}, {"output", sample.output}});
  Json line{{"event", "samples"}, {"step", step}, {"samples", std::move(samples)}};
  if (!evaluation.drawn.empty()) line["drawn"] = evaluation.drawn;
  write(line);
}

void Log::checkpoint(int64_t step, const std::string& folder, bool best) {
  write({{"event", "checkpoint"}, {"step", step}, {"folder", folder}, {"best", best}});
}

void Log::resume(int64_t step) { write({{"event", "resume"}, {"step", step}}); }

void Log::warning(int64_t step, const std::string& text) {
  write({{"event", "warning"}, {"step", step}, {"text", text}});
}

void Log::end(int64_t step, double seconds, const std::string& reason, const std::map<std::string, double>& metrics) {
  write({{"event", "end"}, {"step", step}, {"seconds", seconds}, {"reason", reason}, {"metrics", metrics}});
}

void truncate_log(const std::string& path, int64_t last_step) {
  if (!path_exists(path)) return;
  const std::string text = read_text(path);
  std::string kept;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // an incomplete line left by a kill
    const std::string_view line(text.data() + at, end + 1 - at);
    const auto step = step_of(line);
    if (step && *step <= last_step) kept += line;
    at = end + 1;
  }
  if (kept != text) write_file(path, kept);
}

}  // namespace tape::train
