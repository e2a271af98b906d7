#include "autograd/gradcheck/compare.h"

#include <algorithm>
#include <cmath>

namespace tape::detail {

namespace {

/// Deviations of the usual step above this fraction of the largest slope are recorded; smaller ones are curvature.
constexpr double kNoted = 1e-3;
/// Number of elements that get their second opinion even if the time is up.
constexpr size_t kVerified = 16;

bool contains(const std::vector<size_t>& sorted, size_t wanted) {
  return std::binary_search(sorted.begin(), sorted.end(), wanted);
}

/// Returns the largest slope, the scale for small ones.
double largest_of(const std::vector<SettledSlope>& found) {
  double largest = 0;
  for (const SettledSlope& slope : found)
    if (std::isfinite(slope.numeric) && slope.undecided.empty()) largest = std::max(largest, std::abs(slope.numeric));
  return largest;
}

template <class T>
void keep_only(std::vector<T>& values, const std::vector<bool>& kept) {
  size_t next = 0;
  for (size_t i = 0; i < values.size(); ++i)
    if (kept[i]) values[next++] = values[i];
  values.resize(next);
}

}  // namespace

bool ComparedGradient::is_right(size_t checked, double rtol, const SettledSlope& found, double floor) const {
  const double a = analytic_of(checked), n = found.numeric;
  const double allowed = rtol * std::max(std::abs(a), std::abs(n)) + found.noise + floor;
  return std::isfinite(a) && std::isfinite(n) && std::abs(a - n) <= allowed;
}

void ComparedGradient::compare(double rtol, double atol, const Settle& settle, const Verify& verify,
                               const std::function<bool()>& enough) {
  std::vector<std::pair<int64_t, SettledSlope>> settled;
  bool time_is_up = false;
  for (size_t i = 0; i < elements.size() && !time_is_up; ++i) {
    settled.emplace_back(elements[i], settle(i));
    time_is_up = enough && enough();
  }
  std::sort(settled.begin(), settled.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  elements.clear();
  std::vector<SettledSlope> found;
  for (auto& [element, slope] : settled) {
    elements.push_back(element);
    found.push_back(std::move(slope));
  }
  std::vector<bool> verified(found.size()), kept(found.size(), true);
  size_t count = 0;
  // A slope that a second opinion corrects may have been the largest, and thus the scale for others.
  for (bool again = true; again;) {
    again = false;
    const double floor = atol * largest_of(found);
    for (size_t i = 0; i < found.size(); ++i) {
      if (verified[i] || !kept[i] || (!found[i].kink && !found[i].doubtful && is_right(i, rtol, found[i], floor)))
        continue;
      time_is_up = time_is_up || (enough && enough());
      if (time_is_up && count >= kVerified) {
        kept[i] = false;
        continue;
      }
      found[i] = verify(i, found[i]);
      verified[i] = again = true;
      ++count;
    }
  }
  keep_only(elements, kept);
  keep_only(found, kept);
  keep_only(verified, kept);
  sort_out(found, verified, rtol, atol);
}

void ComparedGradient::sort_out(const std::vector<SettledSlope>& found, const std::vector<bool>& verified, double rtol,
                                double atol) {
  const double largest = largest_of(found), floor = atol * largest;
  const auto note = [](std::vector<size_t>& which, SettledSlope& first, size_t i, const SettledSlope& slope) {
    if (which.empty()) first = slope;
    which.push_back(i);
  };
  for (size_t i = 0; i < found.size(); ++i) {
    numeric.push_back(found[i].numeric);
    slack.push_back(found[i].noise + floor);
    if (found[i].kink)
      note(kinks, first_kink, i, found[i]);
    else if (!found[i].undecided.empty() && !is_right(i, rtol, found[i], floor))
      note(undecided, first_undecided, i, found[i]);
    else if (verified[i] ? found[i].wrong && !is_right(i, 0, found[i], floor) : !is_right(i, rtol, found[i], floor))
      wrong.push_back(i);
    else if (found[i].smaller_step > 0 && !(std::abs(found[i].plain - analytic_of(i)) <= kNoted * largest))
      note(large_steps, first_large_step, i, found[i]);
  }
}

GradcheckResult ComparedGradient::result(double rtol) const {
  GradcheckResult result;
  result.name = name;
  result.shape = shape;
  result.checked = std::ssize(elements);
  result.wrong = std::ssize(wrong);
  result.kinks = std::ssize(kinks);
  if (!kinks.empty()) {
    result.kink_at = index(kinks.front());
    result.slope_below = first_kink.below;
    result.slope_above = first_kink.above;
  }
  result.undecided = std::ssize(undecided);
  if (!undecided.empty()) {
    result.undecided_at = index(undecided.front());
    result.undecided_gradient = analytic_of(undecided.front());
    result.undecided_reason = first_undecided.undecided;
  }
  result.large_steps = std::ssize(large_steps);
  if (!large_steps.empty()) {
    result.large_step_at = index(large_steps.front());
    result.smaller_step = first_large_step.smaller_step;
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    if (contains(kinks, i) || contains(undecided, i)) continue;
    const double a = analytic_of(i), n = numeric[i];
    // Near zero the error of a right element is rounding, so it is measured relative to the size that rounding implies.
    const bool right = !contains(wrong, i);
    const double floor = right ? slack[i] / rtol : 0;
    double error = a == n ? 0 : std::abs(a - n) / std::max({std::abs(a), std::abs(n), floor});
    if (!std::isfinite(error)) error = INFINITY;
    if (error <= result.max_error) continue;
    result.max_error = error;
    result.worst = index(i);
    result.analytic = a;
    result.numeric = n;
  }
  return result;
}

}  // namespace tape::detail
