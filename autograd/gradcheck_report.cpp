#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include "autograd/gradcheck.h"

namespace tape {
namespace {

using Row = std::array<std::string, 5>;

Row row_of(const GradcheckResult& result) {
  const int64_t numel = result.shape.numel();
  std::string wrong = fmt::format("{}/{}", result.wrong, result.checked);
  if (result.checked < numel) wrong += fmt::format(" of {}", numel);
  const char* verdict = result.ok() ? "ok" : result.all_zero ? "ALL ZERO" : "WRONG";
  return {result.name, to_string(result.shape), fmt::format("{:.1e}", result.max_error), wrong, verdict};
}

std::string print_row(const Row& row, const std::array<size_t, 5>& width) {
  std::string line = fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {}", row[0], width[0], row[1], width[1], row[2],
                                 width[2], row[3], width[3], row[4]);
  return line + "\n";
}

/// A NaN has a sign in memory that nobody asked for.
double unsigned_nan(double value) { return std::isnan(value) ? std::abs(value) : value; }

std::string paragraph(const GradcheckResult& result) {
  std::string text = fmt::format("{} {}: ", result.name, to_string(result.shape));
  if (result.wrong > 0) {
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

std::string to_string(const GradcheckReport& report) {
  std::vector<Row> rows{{"gradient of", "shape", "max rel error", "wrong", "verdict"}};
  for (const GradcheckResult& result : report.variables) rows.push_back(row_of(result));
  std::array<size_t, 5> width{};
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
  const auto failed = std::count_if(report.variables.begin(), report.variables.end(),
                                    [](const GradcheckResult& result) { return !result.ok(); });
  std::string text = failed == 0 ? fmt::format("gradcheck: all {} gradients are right\n", report.variables.size())
                                 : fmt::format("gradcheck: {} of {} gradients {} wrong\n", failed,
                                               report.variables.size(), failed == 1 ? "is" : "are");
  for (const Row& row : rows) text += print_row(row, width);
  for (const GradcheckResult& result : report.variables)
    if (!result.ok()) text.append(1, '\n').append(paragraph(result));
  text.pop_back();
  return text;
}

std::ostream& operator<<(std::ostream& stream, const GradcheckReport& report) { return stream << to_string(report); }

}  // namespace tape
