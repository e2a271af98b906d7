#include "autograd/gradcheck/patterns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace tape::detail {
namespace {

/// Whether two values agree well enough to call it a pattern.
bool alike(double a, double b, double slack) {
  return std::abs(a - b) <= 1e-4 * std::max(std::abs(a), std::abs(b)) + 10 * slack;
}

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string place(const ComparedGradient& variable, size_t checked) {
  return to_string(Shape(variable.index(checked)));
}

std::string every_wrong(const ComparedGradient& variable) {
  if (variable.wrong.size() == 1) return "It";
  return variable.wrong.size() == variable.elements.size() ? "Every element" : "Every wrong element";
}

std::string not_finite(const ComparedGradient& variable) {
  size_t analytic = 0, numeric = 0, first = variable.elements.size(), first_numeric = first;
  for (size_t i = variable.elements.size(); i-- > 0;) {
    if (!std::isfinite(variable.analytic_of(i))) ++analytic, first = i;
    if (!std::isfinite(variable.numeric[i])) ++numeric, first_numeric = i;
  }
  if (numeric > 0)
    return fmt::format(
        "The function itself is not finite near these inputs: {} of the differences are not, the first at {}.", numeric,
        place(variable, first_numeric));
  if (analytic == 0) return "";
  const char* what = std::isnan(variable.analytic_of(first)) ? "NaN" : "infinite";
  return fmt::format("{} of {} elements of the gradient {} NaN or infinite, the first ({}) at {}.", analytic,
                     variable.elements.size(), analytic == 1 ? "is" : "are", what, place(variable, first));
}

std::string all_zero(const ComparedGradient& variable) {
  const auto is_zero = [](double value) { return value == 0; };
  if (!std::all_of(variable.analytic.begin(), variable.analytic.end(), is_zero)) return "";
  if (variable.wrong.empty())
    return fmt::format(
        "The gradient is all zero, and so are the differences: the output does not depend on it here. If "
        "that is right, name \"{}\" in allow_zero.",
        variable.name);
  return "The gradient is all zero, the differences are not: was the value detached, or its gradient left out?";
}

/// Returns analytic / numeric if it is the same for all wrong elements.
std::optional<double> common_factor(const ComparedGradient& variable) {
  size_t largest = variable.wrong.front();
  for (size_t i : variable.wrong)
    if (std::abs(variable.numeric[i]) > std::abs(variable.numeric[largest])) largest = i;
  if (variable.numeric[largest] == 0) return {};
  const double factor = variable.analytic_of(largest) / variable.numeric[largest];
  for (size_t i : variable.wrong)
    if (!alike(variable.analytic_of(i), factor * variable.numeric[i], variable.slack[i])) return {};
  return factor;
}

/// Describes an axis of the shape whose size is `count`.
std::string axis_of_size(const Shape& shape, double count, const std::string& owner) {
  for (int64_t axis = 0; axis < shape.rank(); ++axis)
    if (shape[axis] > 1 && std::abs(static_cast<double>(shape[axis]) - count) < 1e-3 * count)
      return fmt::format("{} is the size of axis {} of {} {}", shape[axis], axis, owner, to_string(shape));
  return "";
}

std::string constant_factor(const ComparedGradient& variable, const Shape& output) {
  const std::optional<double> factor = common_factor(variable);
  if (!factor) return "";
  const std::string subject = every_wrong(variable);
  if (*factor == 0) return fmt::format("{} is zero on the tape: a term is missing.", subject);
  if (std::abs(*factor + 1) < 1e-4)
    return fmt::format("{} has the opposite sign: a minus is missing, or one too many.", subject);
  std::string text = fmt::format("{} is {} times the numeric value", subject, number(*factor));
  if (variable.wrong.size() == 1) return text + ".";
  text += ": a constant factor is wrong";
  for (const bool mean : {true, false}) {
    const double count = mean ? 1 / *factor : *factor;
    std::string axis = axis_of_size(output, count, "the output");
    if (axis.empty()) axis = axis_of_size(variable.shape, count, variable.name);
    if (!axis.empty())
      return text + fmt::format(" ({}: {}?)", axis, mean ? "a mean instead of a sum" : "a sum instead of a mean");
  }
  return text + ".";
}

std::string constant_offset(const ComparedGradient& variable) {
  const size_t first = variable.wrong.front();
  const double offset = variable.analytic_of(first) - variable.numeric[first];
  if (variable.wrong.size() < 2) return "";
  for (size_t i : variable.wrong)
    if (!alike(variable.analytic_of(i) - variable.numeric[i], offset, variable.slack[i])) return "";
  return fmt::format("{} is off by the same amount, {}: a term is missing, or one too many.", every_wrong(variable),
                     number(offset));
}

/// Whether the gradient of the last two axes [m, n] is laid out in memory as that of [n, m].
std::string transposed(const ComparedGradient& variable) {
  const int64_t rank = variable.shape.rank();
  if (rank < 2) return "";
  const int64_t m = variable.shape[rank - 2], n = variable.shape[rank - 1];
  if (m < 2 || n < 2) return "";
  for (size_t i = 0; i < variable.elements.size(); ++i) {
    const int64_t inside = variable.elements[i] % (m * n), row = inside / n, col = inside % n;
    const int64_t other = variable.elements[i] - inside + col * m + row;
    if (!alike(variable.analytic[static_cast<size_t>(other)], variable.numeric[i], variable.slack[i])) return "";
  }
  return "The gradient is right once its last two axes are exchanged: it is transposed.";
}

std::string swapped(const ComparedGradient& variable, const std::vector<ComparedGradient>& all) {
  for (const ComparedGradient& other : all) {
    if (&other == &variable || !(other.shape == variable.shape) || other.elements != variable.elements) continue;
    bool same = true;
    for (size_t i = 0; same && i < variable.elements.size(); ++i)
      same = alike(variable.analytic_of(i), other.numeric[i], other.slack[i]);
    if (same) return fmt::format("It is the gradient of {}: the two are swapped.", other.name);
  }
  return "";
}

/// Whether the gradient is the part through one position of an output axis, or through all but one.
std::string missing_sum(const ComparedGradient& variable, const Shape& output, const Contributions& contributions) {
  constexpr size_t kElements = 64;
  const size_t count = std::min(kElements, variable.elements.size());
  std::vector<std::vector<double>> parts;
  for (size_t i = 0; i < count; ++i) {
    parts.push_back(contributions(i));
    if (std::ssize(parts.back()) != output.numel()) return "";
  }
  int64_t inner = output.numel();
  for (int64_t axis = 0; axis < output.rank() && inner > 0; ++axis) {
    const int64_t size = output[axis];
    inner /= size;
    if (size < 2) continue;
    for (int64_t position = 0; position < size; ++position) {
      bool only = true, all_but = true;
      for (size_t i = 0; i < count && (only || all_but); ++i) {
        double through = 0;
        for (int64_t j = 0; j < output.numel(); ++j)
          if (j / inner % size == position) through += parts[i][static_cast<size_t>(j)];
        only = only && alike(variable.analytic_of(i), through, variable.slack[i]);
        all_but = all_but && alike(variable.analytic_of(i), variable.numeric[i] - through, variable.slack[i]);
      }
      if (only)
        return fmt::format(
            "It is only the part that comes through position {} of axis {} of the output {}: a sum over that axis"
            "{} is missing.",
            position, axis, to_string(output), axis == 0 ? " (the batch)" : "");
      if (all_but)
        return fmt::format("The part that comes through position {} of axis {} of the output {} is missing.", position,
                           axis, to_string(output));
    }
  }
  return "";
}

/// Describes the rows, columns or positions that contain all wrong elements, along the axis that narrows them down
/// most.
std::string only_some(const ComparedGradient& variable) {
  if (variable.wrong.size() < 2 || variable.wrong.size() == variable.elements.size()) return "";
  std::set<int64_t> best;
  int64_t best_axis = -1;
  double best_share = 1;
  for (int64_t axis = 0; axis < variable.shape.rank(); ++axis) {
    std::set<int64_t> positions;
    for (size_t i : variable.wrong) positions.insert(variable.index(i)[static_cast<size_t>(axis)]);
    const double share = static_cast<double>(positions.size()) / static_cast<double>(variable.shape[axis]);
    if (share >= best_share || positions.size() > 8) continue;
    best_share = share;
    best = positions;
    best_axis = axis;
  }
  if (best_axis < 0) return "";
  const std::string list = fmt::format("{}", fmt::join(best, ", "));
  const char* plural = best.size() == 1 ? "" : "s";
  const char* verb = best.size() == 1 ? "is" : "are";
  if (variable.shape.rank() == 1) return fmt::format("Only element{} {} {} wrong.", plural, list, verb);
  if (best_axis == 0) return fmt::format("Only row{} {} {} wrong.", plural, list, verb);
  if (variable.shape.rank() == 2) return fmt::format("Only column{} {} {} wrong.", plural, list, verb);
  return fmt::format("Only position{} {} of axis {} {} wrong.", plural, list, best_axis, verb);
}

std::string joined(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + " " + second;
}

std::string range_of_ratios(const ComparedGradient& variable) {
  double low = INFINITY, high = -INFINITY;
  for (size_t i : variable.wrong) {
    if (variable.numeric[i] == 0) continue;
    low = std::min(low, variable.analytic_of(i) / variable.numeric[i]);
    high = std::max(high, variable.analytic_of(i) / variable.numeric[i]);
  }
  if (low > high) return "The numeric value is zero there.";
  return fmt::format("No simple pattern: analytic / numeric runs from {} to {}.", number(low), number(high));
}

}  // namespace

std::string explain_wrong(const ComparedGradient& variable, const std::vector<ComparedGradient>& all,
                          const Shape& output, const Contributions& contributions) {
  if (std::string text = not_finite(variable); !text.empty()) return joined(text, only_some(variable));
  if (variable.wrong.empty() && !variable.undecided.empty()) return "";
  if (std::string text = all_zero(variable); !text.empty()) return text;
  // A single wrong element always has some factor; a pattern must be shared by all elements.
  const bool whole = variable.elements.size() > 1 && variable.wrong.size() > 1;
  if (std::string text = constant_factor(variable, output); !text.empty()) return joined(text, only_some(variable));
  if (whole) {
    if (std::string text = transposed(variable); !text.empty()) return text;
    if (std::string text = swapped(variable, all); !text.empty()) return text;
    if (std::string text = constant_offset(variable); !text.empty()) return joined(text, only_some(variable));
    if (std::string text = missing_sum(variable, output, contributions); !text.empty()) return text;
  }
  return joined(range_of_ratios(variable), only_some(variable));
}

}  // namespace tape::detail
