#include "autograd/gradcheck/compare.h"

#include <algorithm>
#include <cmath>

namespace tape::detail {

void ComparedGradient::compare(double rtol, double atol, const std::function<SettledSlope(size_t checked)>& settle,
                               const std::function<bool()>& enough) {
  std::vector<std::pair<int64_t, SettledSlope>> settled;
  for (size_t i = 0; i < elements.size(); ++i) {
    settled.emplace_back(elements[i], settle(i));
    if (enough && enough()) break;
  }
  std::sort(settled.begin(), settled.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  elements.clear();
  double largest = 0;
  for (const auto& [element, found] : settled) {
    elements.push_back(element);
    numeric.push_back(found.numeric);
    slack.push_back(found.noise);
    if (std::isfinite(found.numeric)) largest = std::max(largest, std::abs(found.numeric));
    if (!found.kink) continue;
    if (kinks.empty()) first_kink = found;
    kinks.push_back(elements.size() - 1);
  }
  for (size_t i = 0; i < elements.size(); ++i) {
    slack[i] += atol * largest;
    const double a = analytic_of(i), n = numeric[i];
    const double allowed = rtol * std::max(std::abs(a), std::abs(n)) + slack[i];
    const bool right = std::isfinite(a) && std::isfinite(n) && std::abs(a - n) <= allowed;
    if (!right && !std::binary_search(kinks.begin(), kinks.end(), i)) wrong.push_back(i);
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
  for (size_t i = 0; i < elements.size(); ++i) {
    if (std::binary_search(kinks.begin(), kinks.end(), i)) continue;
    const double a = analytic_of(i), n = numeric[i];
    // The error of a right element near zero is rounding: it is measured against the size that rounding allows for.
    const bool right = !std::binary_search(wrong.begin(), wrong.end(), i);
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
