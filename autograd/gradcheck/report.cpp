#include "autograd/gradcheck/report.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "base/table.h"

namespace tape {
namespace {

const char* verdict(const GradcheckResult& result) {
  if (result.all_zero) return "ALL ZERO";
  if (result.wrong > 0) return "WRONG";
  if (result.undecided > 0) return "UNDECIDED";
  if (result.kinks == 0) return "ok";
  return result.kinks == result.checked ? "only kinks" : "ok but kinks";
}

std::vector<std::string> row_of(const GradcheckResult& result) {
  const int64_t numel = result.shape.numel();
  std::string wrong = fmt::format("{}/{}", result.wrong, result.checked);
  if (result.directions > 0)
    wrong += " directions";
  else if (result.checked < numel)
    wrong += fmt::format(" of {}", numel);
  return {result.name, to_string(result.shape), fmt::format("{:.1e}", result.max_error), wrong, verdict(result)};
}

/// Drops the meaningless sign of a NaN.
double unsigned_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

std::string kinks(const GradcheckResult& result) {
  const char* what = result.directions > 0 ? "direction" : "element";
  std::string text =
      fmt::format("{} {}: {} of {} {}s {} at a kink, where there is no gradient to compare with", result.name,
                  to_string(result.shape), result.kinks, result.checked, what, result.kinks == 1 ? "is" : "are");
  if (result.directions == 0)
    text += fmt::format(": at {} the slope is {:.4g} below and {:.4g} above, and the tape's value lies between",
                        to_string(Shape(result.kink_at)), result.slope_below, result.slope_above);
  return text + ".\n";
}

/// As in "3 of 4 elements are", "1 of 4 elements is".
std::string counted(int64_t count, const GradcheckResult& result) {
  return fmt::format("{} of {} element{} {}", count, result.checked, result.checked == 1 ? "" : "s",
                     count == 1 ? "is" : "are");
}

std::string undecided(const GradcheckResult& result) {
  std::string text = fmt::format(
      "{} {}: {} undecided, neither right nor wrong: at {} the value is {:.4g} and the gradient {:.4g}, and {}.",
      result.name, to_string(result.shape), counted(result.undecided, result), to_string(Shape(result.undecided_at)),
      result.undecided_value, unsigned_nan(result.undecided_gradient), result.undecided_reason);
  if (result.wrong == 0 && !result.explanation.empty()) text.append(1, ' ').append(result.explanation);
  return text + "\n";
}

std::string large_steps(const GradcheckResult& result) {
  return fmt::format(
      "{} {}: the step is too large for {} of {} elements, and a smaller one confirms {}: at {} the value "
      "is {:.4g}, the step {:.3g}, and the smaller one {:.3g}.\n",
      result.name, to_string(result.shape), result.large_steps, result.checked,
      result.large_steps == 1 ? "its gradient" : "their gradients", to_string(Shape(result.large_step_at)),
      result.large_step_value, result.large_step, result.smaller_step);
}

/// Returns " (layers.0), called at layer.cpp:42", with the file name only; `source` has the full path.
std::string place_of(const std::string& module_path, const std::string& source) {
  std::string text = module_path.empty() ? "" : fmt::format(" ({})", module_path);
  if (!source.empty()) text += fmt::format(", called at {}", source.substr(source.find_last_of('/') + 1));
  return text;
}

/// As in "gradcheck: 1 of 2 gradients is wrong, 1 is undecided".
std::string headline(const GradcheckReport& report) {
  int64_t wrong = 0, undecided = 0;
  for (const GradcheckResult& result : report.variables) {
    const bool is_wrong = result.wrong > 0 || result.all_zero;
    wrong += is_wrong;
    undecided += !is_wrong && result.undecided > 0;
  }
  std::string text =
      fmt::format("gradcheck: {} of {} gradients {} wrong", wrong, report.variables.size(), wrong == 1 ? "is" : "are");
  if (wrong + undecided == 0) text = fmt::format("gradcheck: all {} gradients are right", report.variables.size());
  if (report.variables.empty() && !report.unregistered.empty()) text = "gradcheck: no gradient was checked";
  if (undecided > 0) text += fmt::format(", {} {} undecided", undecided, undecided == 1 ? "is" : "are");
  if (const size_t count = report.unregistered.size(); count > 0)
    text += fmt::format(", and {} tensor{} with gradients {} not registered", count, count == 1 ? "" : "s",
                        count == 1 ? "is" : "are");
  return text + "\n";
}

/// States what may be missed when gradients were checked along random directions.
std::string missed(const std::vector<GradcheckResult>& variables) {
  int64_t count = 0, directions = 0;
  double chance = 0, element = 0;
  for (const GradcheckResult& result : variables) {
    if (result.directions == 0) continue;
    ++count;
    directions = result.directions;
    chance = std::max(chance, result.miss_chance);
    element = std::max(element, result.miss_element);
  }
  if (count == 0) return "";
  return fmt::format(
      "{} gradient{} checked along {} random direction{}: an error of 1% of a gradient's norm is missed with "
      "probability {:.1g}, one as large as a single element of average size with {:.1g}.\n",
      count, count == 1 ? " was" : "s were", directions, directions == 1 ? "" : "s", chance, element);
}

/// As in "[1, 3] is 0.512, should be 0.498 (2.81% off), all 80 elements wrong. Every element is ...".
std::string compared(const GradcheckResult& gradient) {
  std::string text = fmt::format("{} is {:.4g}, should be {:.4g}", to_string(Shape(gradient.worst)),
                                 unsigned_nan(gradient.analytic), unsigned_nan(gradient.numeric));
  if (std::isfinite(gradient.analytic) && gradient.numeric != 0)
    text += fmt::format(" ({:.3g}% off)", 100 * std::abs(gradient.analytic / gradient.numeric - 1));
  if (gradient.wrong == gradient.checked)
    text += gradient.checked > 1 ? fmt::format(", all {} elements wrong", gradient.checked) : "";
  else
    text += fmt::format(", {} of {} elements wrong", gradient.wrong, gradient.checked);
  return gradient.explanation.empty() ? text + "." : fmt::format("{}. {}", text, gradient.explanation);
}

std::string paragraph(const GradcheckResult& result) {
  std::string text = fmt::format("{} {}: ", result.name, to_string(result.shape));
  if (result.wrong > 0 && result.directions > 0)
    text += fmt::format("wrong along {} of {} directions; at worst the slope is {:.10g} on the tape, {:.10g} numeric. ",
                        result.wrong, result.directions, unsigned_nan(result.analytic), unsigned_nan(result.numeric));
  if (result.wrong > 0 && result.directions == 0) {
    const std::string count =
        result.wrong == 1 && result.checked == 1
            ? "its only element is wrong"
            : fmt::format("{} of {} elements {} wrong", result.wrong, result.checked, result.wrong == 1 ? "is" : "are");
    text += fmt::format("{}; {}{}: analytic {:.10g}, numeric {:.10g} (relative error {:.2g}). ", count,
                        result.wrong == 1 ? "at " : "the worst at ", to_string(Shape(result.worst)),
                        unsigned_nan(result.analytic), unsigned_nan(result.numeric), result.max_error);
  }
  return text + result.explanation + "\n";
}

}  // namespace

bool GradcheckReport::ok() const {
  return unregistered.empty() &&
         std::all_of(variables.begin(), variables.end(), [](const GradcheckResult& result) { return result.ok(); });
}

double GradcheckReport::share() const {
  double checked = 0, all = 0;
  for (const GradcheckResult& result : variables) {
    checked += result.share() * static_cast<double>(result.shape.numel());
    all += static_cast<double>(result.shape.numel());
  }
  return all == 0 ? 1 : checked / all;
}

std::string to_string(const GradcheckReport& report) {
  using enum TextTable::Align;
  TextTable table({{left}, {left}, {right}, {right}, {left}});
  table.add({"gradient of", "shape", "max rel error", "wrong", "verdict"});
  for (const GradcheckResult& result : report.variables) table.add(row_of(result));
  std::string text = headline(report);
  if (report.out_of_time)
    text += fmt::format("{:.2g}% of the elements were checked in {:.2g} s, the time limit\n", 100 * report.share(),
                        report.seconds);
  text += table.text();
  for (const GradcheckResult& result : report.variables) {
    if (result.wrong > 0 || result.all_zero) text.append(1, '\n').append(paragraph(result));
    if (result.undecided > 0 && result.directions == 0) text.append(1, '\n').append(undecided(result));
    if (result.large_steps > 0) text.append(1, '\n').append(large_steps(result));
    if (result.kinks > 0) text.append(1, '\n').append(kinks(result));
  }
  if (const std::string unseen = missed(report.variables); !unseen.empty()) text.append(1, '\n').append(unseen);
  if (!report.unregistered.empty()) text += '\n';
  for (const UnregisteredTensor& tensor : report.unregistered)
    text += fmt::format("not registered: {}\n", to_string(tensor));
  if (!report.guilty.empty() || !report.unrecorded.empty() || !report.blame.empty()) text += '\n';
  for (const GuiltyOperation& guilty : report.guilty) text += to_string(guilty).append(1, '\n');
  for (const UnrecordedRead& read : report.unrecorded) text += to_string(read).append(1, '\n');
  if (!report.blame.empty()) text.append(report.blame).append(1, '\n');
  text.pop_back();
  return text;
}

std::string to_string(const GuiltyOperation& guilty) {
  std::string text = fmt::format("guilty: {}", guilty.operation);
  if (!guilty.attributes.empty()) text += fmt::format("({})", guilty.attributes);
  text += place_of(guilty.module_path, guilty.source);
  if (guilty.composed) text += ", a step of the Composed scope";
  const char* which = guilty.derivative == Derivative::first ? "gradient of" : "derivative of its gradient by";
  return fmt::format("{}: {} {} {}: {}", text, which, guilty.gradient.name, to_string(guilty.gradient.shape),
                     compared(guilty.gradient));
}

namespace {

/// As in "input 0, weight, bias and 3 more".
std::string listed(const std::vector<std::string>& variables) {
  constexpr size_t kNamed = 3;
  if (variables.empty()) return "the inputs";
  const size_t named = std::min(kNamed, variables.size());
  std::string text =
      fmt::format("{}", fmt::join(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (named < variables.size()) text += fmt::format(" and {} more", variables.size() - named);
  return text;
}

}  // namespace

std::string to_string(const UnrecordedRead& read) {
  std::string text = fmt::format("unrecorded: {}", read.operation);
  if (!read.attributes.empty()) text += fmt::format("({})", read.attributes);
  text += place_of(read.module_path, read.source);
  text += fmt::format(", uses {} as a constant, but it changes with {}", read.value, listed(read.variables));
  return text + (read.origin.empty() ? "." : fmt::format(": {}.", read.origin));
}

std::string to_string(const UnregisteredTensor& tensor) {
  std::string text = to_string(tensor.shape);
  if (!tensor.operation.empty())
    text += fmt::format(", first used by {}{}", tensor.operation, place_of(tensor.module_path, tensor.source));
  return text;
}

std::ostream& operator<<(std::ostream& stream, const GradcheckReport& report) { return stream << to_string(report); }

}  // namespace tape
