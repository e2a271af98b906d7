#include "inspect/run_report/run_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "text/json.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

/// Whether it is a nonnegative integer that JavaScript represents exactly.
bool whole(const Json& value) { return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{1} << 53; }

/// One line of the log; its accessors throw errors that name the line.
class Line {
 public:
  Line(const Json& fields, std::string where) : fields_(fields), where_(std::move(where)) {}

  const std::string& where() const { return where_; }

  int64_t step() const {
    const Json& value = field("step");
    if (!whole(value)) wrong("step", "an integer of at least 0", value);
    return value.get<int64_t>();
  }

  /// A field that may be missing, or null if it is not finite.
  double number(const char* name) const {
    const auto found = fields_.find(name);
    return found == fields_.end() ? missing_value : to_number(name, *found);
  }

  double to_number(const std::string& name, const Json& value) const {
    if (value.is_null()) return missing_value;
    if (!value.is_number()) wrong(name, "a number or null", value);
    return value.get<double>();
  }

  std::string text(const char* name) const { return to_text(name, field(name)); }

  std::string to_text(const std::string& name, const Json& value) const {
    if (!value.is_string()) wrong(name, "a string", value);
    return value.get<std::string>();
  }

  bool flag(const char* name) const {
    const auto found = fields_.find(name);
    if (found == fields_.end()) return false;
    if (!found->is_boolean()) wrong(name, "true or false", *found);
    return found->get<bool>();
  }

  const Json& list(const char* name) const { return to_list(name, field(name)); }

  const Json& to_list(const std::string& name, const Json& value) const {
    if (!value.is_array()) wrong(name, "an array", value);
    return value;
  }

  std::vector<std::pair<std::string, double>> metrics() const {
    std::vector<std::pair<std::string, double>> all;
    const auto found = fields_.find("metrics");
    if (found == fields_.end()) return all;
    if (!found->is_object()) wrong("metrics", "an object", *found);
    for (const auto& [name, value] : found->items())
      all.emplace_back(name, to_number(fmt::format("metrics.{}", name), value));
    return all;
  }

  [[noreturn]] void wrong(const std::string& name, std::string_view expected, const Json& found) const {
    std::string shown = found.dump();
    if (shown.size() > 60) shown = found.is_string() ? "a long string" : fmt::format("a long {}", found.type_name());
    raise(ErrorKind::format, "{}: \"{}\" must be {}, got {}", where_, name, expected, shown);
  }

 private:
  const Json& field(const char* name) const {
    const auto found = fields_.find(name);
    if (found == fields_.end()) raise(ErrorKind::format, "{}: missing \"{}\"", where_, name);
    return *found;
  }

  const Json& fields_;
  std::string where_;
};

/// Builds a RunLog from events in order.
class Reader {
 public:
  void take(const Line& line, Json& fields) {
    const std::string event = line.text("event");
    if (event == "start") {
      take_start(line, fields);
    } else if (event == "step") {
      take_step(line);
    } else if (event == "eval") {
      take_eval(line, fields);
    } else if (event == "samples") {
      take_samples(line, fields);
    } else if (event == "confusion") {
      take_confusion(line);
    } else if (event == "checkpoint") {
      log_.marks.push_back({"checkpoint", line.step(), line.text("folder"), line.flag("best")});
    } else if (event == "resume") {
      rewind_to(line.step());
      log_.marks.push_back({"resume", line.step()});
    } else if (event == "warning") {
      log_.marks.push_back({"warning", line.step(), line.text("text")});
    } else if (event == "end") {
      log_.ends = {{line.step(), total_seconds(line.number("seconds")), line.text("reason"), line.metrics()}};
    } else {
      ++log_.unknown_events;
    }
  }

  RunLog finish() { return std::move(log_); }

 private:
  // A resumed run may log its start event again; keep the time of the first start.
  void take_start(const Line& line, Json& fields) {
    for (const char* name : {"time", "task", "machine", "model"})
      if (fields.contains(name)) line.to_text(name, fields[name]);
    for (const char* name : {"parameters", "loss_floor", "chance_loss"}) line.number(name);
    if (fields.contains("options") && !fields["options"].is_object())
      line.wrong("options", "an object", fields["options"]);
    if (log_.start.contains("time")) fields["time"] = log_.start["time"];
    log_.start = std::move(fields);
  }

  void take_step(const Line& line) {
    const int64_t step = line.step();
    if (!log_.steps.empty() && step <= log_.steps.back().step) rewind_to(step - 1);
    log_.steps.push_back({.step = step,
                          .epoch = line.number("epoch"),
                          .seconds = total_seconds(line.number("seconds")),
                          .loss = line.number("loss"),
                          .lr = line.number("lr"),
                          .grad_norm = line.number("grad_norm"),
                          .tokens_per_second = line.number("tokens_per_second")});
  }

  void take_eval(const Line& line, const Json& fields) {
    log_.evals.push_back({.step = line.step(),
                          .seconds = total_seconds(line.number("seconds")),
                          .loss = line.number("loss"),
                          .metrics = line.metrics(),
                          .weights = fields.contains("weights") ? line.text("weights") : ""});
  }

  void take_samples(const Line& line, const Json& fields) {
    LoggedSamples set{line.step()};
    for (const Json& sample : line.list("samples")) {
      if (!sample.is_object()) line.wrong("samples", "an array of objects", sample);
      const auto text = [&](const char* name) {
        return sample.contains(name) ? line.to_text(fmt::format("samples.{}", name), sample[name]) : std::string();
      };
      set.samples.push_back({text("input"), text("reference"), text("output")});
    }
    if (fields.contains("drawn")) set.drawn = line.text("drawn");
    log_.samples.push_back(std::move(set));
  }

  void take_confusion(const Line& line) {
    LoggedConfusion table{line.step()};
    for (const Json& label : line.list("labels")) table.labels.push_back(line.to_text("labels", label));
    const Json& rows = line.list("counts");
    if (rows.size() != table.labels.size())
      raise(ErrorKind::format, "{}: \"counts\" has {} rows for {} labels", line.where(), rows.size(),
            table.labels.size());
    for (const Json& row : rows) {
      if (line.to_list("counts", row).size() != table.labels.size())
        raise(ErrorKind::format, "{}: a row of \"counts\" has {} columns for {} labels", line.where(), row.size(),
              table.labels.size());
      std::vector<int64_t>& counts = table.counts.emplace_back();
      for (const Json& count : row) {
        if (!whole(count)) line.wrong("counts", "integers of at least 0", count);
        counts.push_back(count.get<int64_t>());
      }
    }
    log_.confusions.push_back(std::move(table));
  }

  // Drops what was logged after a step that the run repeats. Warnings stay: they did occur.
  void rewind_to(int64_t step) {
    const auto after = [step](const auto& entry) { return entry.step > step; };
    log_.steps_done_again += static_cast<int64_t>(std::erase_if(log_.steps, after));
    std::erase_if(log_.evals, after);
    std::erase_if(log_.samples, after);
    std::erase_if(log_.confusions, after);
    std::erase_if(log_.marks, [&](const LoggedMark& mark) { return mark.kind == "checkpoint" && after(mark); });
    for (const LoggedEnd& end : log_.ends) log_.marks.push_back({"stop", end.step, end.reason});
    log_.ends.clear();
    resumed_ = true;
  }

  // Seconds of all processes: a resumed one may count from 0 again.
  double total_seconds(double seconds) {
    if (resumed_ && !std::isnan(seconds)) {
      const double kept = log_.steps.empty() || std::isnan(log_.steps.back().seconds) ? 0 : log_.steps.back().seconds;
      before_ = seconds < kept ? kept : 0;
      resumed_ = false;
    }
    return seconds + before_;
  }

  RunLog log_;
  bool resumed_ = false;
  double before_ = 0;  // seconds of earlier processes, if this one counts from 0
};

}  // namespace

RunLog parse_run_log(const std::string& text, const std::string& where) {
  Reader reader;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::string place = fmt::format("{}: line {}", where, ++number);
    begin = end + 1;
    if (end == text.size() && !nlohmann::json::accept(line)) break;
    Json fields = parse_json(line, place);
    reader.take(Line(fields, place), fields);
  }
  return reader.finish();
}

}  // namespace tape::inspect
