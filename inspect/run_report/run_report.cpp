#include "inspect/run_report/run_report.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "inspect/run_report/run_log.h"
#include "inspect/run_report/thin.h"
#include "inspect/web_page.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

// Limits that keep the page below a megabyte for runs of any length.
constexpr size_t curve_buckets = 400;  // each with the extremes of every curve
constexpr size_t eval_buckets = 150;   //
constexpr size_t most_marks = 400;     // per kind
constexpr size_t most_metrics = 100;   // per evaluation
constexpr size_t samples_bytes = 200'000;
constexpr size_t confusion_bytes = 100'000;
constexpr size_t longest_text = 4000;  // bytes per text of a sample

// Rounded to six digits, the most that a curve and its readout can show.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

template <class Entry, class Member>
std::vector<double> column(const std::vector<Entry>& entries, Member member) {
  std::vector<double> values;
  values.reserve(entries.size());
  for (const Entry& entry : entries) {
    const auto value = static_cast<double>(entry.*member);
    values.push_back(std::isfinite(value) ? value : missing_value);
  }
  return values;
}

Json numbers(const std::vector<double>& values, const std::vector<size_t>& kept) {
  Json list = Json::array();
  for (const size_t i : kept) list.push_back(number(values[i]));
  return list;
}

/// The training curves, with at most 8 points per bucket.
Json steps_json(const std::vector<LoggedStep>& steps) {
  const std::vector<double> loss = column(steps, &LoggedStep::loss), lr = column(steps, &LoggedStep::lr),
                            norm = column(steps, &LoggedStep::grad_norm),
                            speed = column(steps, &LoggedStep::tokens_per_second);
  const std::vector<size_t> kept = thin({loss, lr, norm, speed}, curve_buckets);
  const auto n = static_cast<double>(steps.size());
  const double spacing = n > 1 ? static_cast<double>(steps.back().step - steps.front().step) / (n - 1) : 1;
  // Half-lives of 1/1000, 1/200 and 1/40 of the run, but at least 1, 4 and 16 logged steps.
  Json smooth = Json::array();
  for (const auto& [least, part] : {std::pair(1.0, 1000.0), std::pair(4.0, 200.0), std::pair(16.0, 40.0)}) {
    const double half_life = std::max(least, n / part);
    smooth.push_back({{"half_life", number(half_life * spacing)},
                      {"loss", numbers(smoothed(loss, half_life), kept)},
                      {"grad_norm", numbers(smoothed(norm, half_life), kept)},
                      {"speed", numbers(smoothed(speed, half_life), kept)}});
  }
  Json at = Json::array();
  for (const size_t i : kept) at.push_back(steps[i].step);
  return {{"step", std::move(at)},
          {"epoch", numbers(column(steps, &LoggedStep::epoch), kept)},
          {"seconds", numbers(column(steps, &LoggedStep::seconds), kept)},
          {"loss", numbers(loss, kept)},
          {"lr", numbers(lr, kept)},
          {"grad_norm", numbers(norm, kept)},
          {"speed", numbers(speed, kept)},
          {"smooth", std::move(smooth)},
          {"logged", steps.size()}};
}

/// Truncates a text at a code point boundary.
std::string cut(const std::string& text) {
  if (text.size() <= longest_text) return text;
  size_t end = longest_text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{}…", std::string_view(text).substr(0, end));
}

using Metrics = std::vector<std::pair<std::string, double>>;

std::span<const Metrics::value_type> first_metrics(const Metrics& metrics) {
  return std::span(metrics).first(std::min(metrics.size(), most_metrics));
}

/// The first metrics of an event. Names are known to be unique: inserting into an ordered object would search for each.
Json metrics_json(const Metrics& metrics) {
  Json::object_t all;
  for (const auto& [name, value] : first_metrics(metrics)) all.emplace_back(cut(name), number(value));
  return all;
}

/// Loss and metrics of the evaluations, one column each.
std::vector<std::vector<double>> eval_columns(const std::vector<LoggedEval>& evals) {
  std::map<std::string, std::vector<double>> metrics;
  for (size_t i = 0; i < evals.size(); ++i)
    for (const auto& [name, value] : first_metrics(evals[i].metrics))
      if (metrics.size() < most_metrics || metrics.contains(name))
        metrics.try_emplace(name, evals.size(), missing_value).first->second[i] = value;
  std::vector<std::vector<double>> columns = {column(evals, &LoggedEval::loss)};
  for (auto& [name, values] : metrics) columns.push_back(std::move(values));
  return columns;
}

Json evals_json(const std::vector<LoggedEval>& evals) {
  Json list = Json::array();
  for (const size_t i : thin(eval_columns(evals), eval_buckets)) {
    const LoggedEval& eval = evals[i];
    list.push_back({{"step", eval.step},
                    {"seconds", number(eval.seconds)},
                    {"loss", number(eval.loss)},
                    {"metrics", metrics_json(eval.metrics)},
                    {"weights", cut(eval.weights)}});
  }
  return list;
}

Json one_json(const LoggedSamples& set) {
  Json rows = Json::array();
  for (const train::Sample& sample : set.samples)
    rows.push_back({cut(sample.input), cut(sample.reference), cut(sample.output)});
  return {{"step", set.step}, {"samples", std::move(rows)}, {"drawn", cut(set.drawn)}};
}

Json one_json(const LoggedConfusion& table) {
  return {{"step", table.step}, {"labels", table.labels}, {"counts", table.counts}};
}

/// As many entries as fit into `bytes`, evenly spaced, including the last if it fits; and the total count.
template <class Entry>
Json fitting_entries(const std::vector<Entry>& entries, size_t bytes) {
  std::vector<Json> all;
  std::vector<size_t> sizes;
  sizes.reserve(entries.size());
  for (const Entry& entry : entries) sizes.push_back(all.emplace_back(one_json(entry)).dump().size());
  size_t most = entries.size();
  std::vector<size_t> kept;
  for (;; --most) {
    kept = evenly_spaced(entries.size(), most);
    size_t total = 0;
    for (const size_t i : kept) total += sizes[i];
    if (total <= bytes) break;
  }
  Json shown = Json::array();
  for (const size_t i : kept) shown.push_back(std::move(all[i]));
  return {{"logged", entries.size()}, {"shown", std::move(shown)}};
}

Json marks_json(const std::vector<LoggedMark>& marks) {
  std::vector<size_t> kept;
  for (const std::string_view kind : {"checkpoint", "resume", "warning", "stop"}) {
    std::vector<size_t> of_kind;
    for (size_t i = 0; i < marks.size(); ++i)
      if (marks[i].kind == kind) of_kind.push_back(i);
    for (const size_t i : evenly_spaced(of_kind.size(), most_marks)) kept.push_back(of_kind[i]);
  }
  std::ranges::sort(kept);
  Json list = Json::array();
  for (const size_t i : kept) {
    const LoggedMark& mark = marks[i];
    list.push_back({{"kind", mark.kind}, {"step", mark.step}, {"text", cut(mark.text)}, {"best", mark.best}});
  }
  return {{"logged", marks.size()}, {"shown", std::move(list)}};
}

Json start_json(const Json& start) {
  Json facts = Json::object();
  for (const char* field : {"time", "task", "parameters", "machine", "options", "loss_floor", "chance_loss", "model"})
    if (start.contains(field)) facts[field] = start[field];
  return facts;
}

RunLog log_of(const std::string& folder) {
  const std::string where = file_in_folder(folder, "log.jsonl");
  return parse_run_log(read_text(where), where);
}

Json end_json(const RunLog& log) {
  if (log.ends.empty()) return nullptr;
  const LoggedEnd& last = log.ends.back();
  return {{"step", last.step},
          {"seconds", number(last.seconds)},
          {"reason", last.reason},
          {"metrics", metrics_json(last.metrics)}};
}

/// The curves and settings of another run.
Json other_json(const RunLog& log, const std::string& folder) {
  Json start = start_json(log.start);
  start.erase("model");
  return {{"folder", folder},
          {"start", std::move(start)},
          {"steps", steps_json(log.steps)},
          {"evals", evals_json(log.evals)},
          {"end", end_json(log)}};
}

Json report_json(const RunLog& log, const std::string& folder) {
  return {{"folder", folder},
          {"start", start_json(log.start)},
          {"steps", steps_json(log.steps)},
          {"evals", evals_json(log.evals)},
          {"samples", fitting_entries(log.samples, samples_bytes)},
          {"confusions", fitting_entries(log.confusions, confusion_bytes)},
          {"marks", marks_json(log.marks)},
          {"end", end_json(log)},
          {"steps_done_again", log.steps_done_again},
          {"unknown_events", log.unknown_events},
          {"others", Json::array()}};
}

std::string last_name(const std::string& folder) {
  std::filesystem::path path = std::filesystem::path(folder).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.filename().string();
}

}  // namespace

std::string write_run_report(const std::string& folder) {
  return write_run_report(folder, (std::filesystem::path(folder) / "report.html").string());
}

std::string write_run_report(const std::string& folder, const std::string& path,
                             const std::vector<std::string>& others) {
  Json report = report_json(log_of(folder), last_name(folder));
  for (const std::string& other : others) report["others"].push_back(other_json(log_of(other), last_name(other)));
  write_file(path, web_page("run_report.html", report));
  return path;
}

}  // namespace tape::inspect
