#include "autograd/gradcheck/report.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "base/table.h"

namespace tape {
namespace {

std::vector<std::string> row_of(const GradcheckResult& result) {
  const int64_t numel = result.shape.numel();
  std::string wrong = fmt::format("{}/{}", result.wrong, result.checked);
  if (result.directions > 0)
    wrong += " directions";
  else if (result.checked < numel)
    wrong += fmt::format(" of {}", numel);
  const char* verdict = !result.ok()                                         ? result.all_zero ? "ALL ZERO" : "WRONG"
                        : result.kinks > 0 && result.kinks == result.checked ? "only kinks"
                        : result.kinks > 0                                   ? "ok but kinks"
                                                                             : "ok";
  return {result.name, to_string(result.shape), fmt::format("{:.1e}", result.max_error), wrong, verdict};
}

/// A NaN has a sign in memory that nobody asked for.
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

/// What was not looked at, where whole gradients were checked along random directions.
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
      "{} gradient{} checked along {} random direction{}: an error of 1% of a gradient's length goes unseen with a "
      "chance of {:.1g}, one as large as a single element of average size with {:.1g}.\n",
      count, count == 1 ? " was" : "s were", directions, directions == 1 ? "" : "s", chance, element);
}

/// "[1, 3] is 0.512, should be 0.498 (2.81% off), all 80 elements wrong. Every element is ..."
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
  return std::all_of(variables.begin(), variables.end(), [](const GradcheckResult& result) { return result.ok(); });
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
  const auto failed = std::count_if(report.variables.begin(), report.variables.end(),
                                    [](const GradcheckResult& result) { return !result.ok(); });
  std::string text = failed == 0 ? fmt::format("gradcheck: all {} gradients are right\n", report.variables.size())
                                 : fmt::format("gradcheck: {} of {} gradients {} wrong\n", failed,
                                               report.variables.size(), failed == 1 ? "is" : "are");
  if (report.out_of_time)
    text += fmt::format("{:.2g}% of the elements were checked in {:.2g} s: the time was up\n", 100 * report.share(),
                        report.seconds);
  text += table.text();
  for (const GradcheckResult& result : report.variables) {
    if (!result.ok()) text.append(1, '\n').append(paragraph(result));
    if (result.kinks > 0) text.append(1, '\n').append(kinks(result));
  }
  if (const std::string unseen = missed(report.variables); !unseen.empty()) text.append(1, '\n').append(unseen);
  if (!report.guilty.empty() || !report.blame.empty()) text += '\n';
  for (const GuiltyOperation& guilty : report.guilty) text += to_string(guilty).append(1, '\n');
  if (!report.blame.empty()) text.append(report.blame).append(1, '\n');
  text.pop_back();
  return text;
}

std::string to_string(const GuiltyOperation& guilty) {
  std::string text = fmt::format("guilty: {}", guilty.operation);
  if (!guilty.attributes.empty()) text += fmt::format("({})", guilty.attributes);
  if (!guilty.module_path.empty()) text += fmt::format(" ({})", guilty.module_path);
  // The file without its folders: the whole path is in `source`.
  if (!guilty.source.empty())
    text += fmt::format(", called at {}", guilty.source.substr(guilty.source.find_last_of('/') + 1));
  if (guilty.composed) text += ", a step of the Composed scope";
  const char* which = guilty.derivative == Derivative::first ? "gradient of" : "its gradient's own gradient by";
  return fmt::format("{}: {} {} {}: {}", text, which, guilty.gradient.name, to_string(guilty.gradient.shape),
                     compared(guilty.gradient));
}

std::ostream& operator<<(std::ostream& stream, const GradcheckReport& report) { return stream << to_string(report); }

}  // namespace tape
