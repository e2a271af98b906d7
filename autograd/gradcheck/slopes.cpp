#include "autograd/gradcheck/slopes.h"

#include <algorithm>
#include <cmath>

namespace tape::detail {
namespace {

constexpr double kRounding = 0x1p-53;
/// A difference between the two sides counts from this multiple of their rounding error.
constexpr double kClear = 50;
/// Rounding inside a function may exceed the rounding visible in its outputs by this factor, because sums that cancel
/// hide how large their terms were.
constexpr double kHidden = 1000;
/// Step from which on a function that rounds to integers may seem to have a slope.
constexpr double kWhole = 0.1;

}  // namespace

Slopes slopes_of(const Tensors& above, const Tensors& here, const Tensors& below, const Tensors& head, double up,
                 double down, double size_of_x) {
  Slopes slopes;
  double changed = 0, all = 0;
  for (size_t i = 0; i < above.size(); ++i) {
    if (!head[i].defined()) continue;
    const double *a = above[i].data<double>(), *b = below[i].data<double>();
    const double *y = here[i].data<double>(), *w = head[i].data<double>();
    for (int64_t j = 0; j < above[i].numel(); ++j) {
      // Subtracting each element before summing cancels unchanged elements exactly, even infinite ones.
      const double part = a[j] == b[j] ? 0 : w[j] * (a[j] - b[j]) / (up + down);
      slopes.parts.push_back(part);
      slopes.central += part;
      const double size = std::abs(w[j] * y[j]);
      if (std::isfinite(size)) all += size * size;
      if (std::isfinite(size) && part != 0) changed += size * size;
      double after = a[j] == y[j] ? 0 : w[j] * (a[j] - y[j]) / up;
      double before = b[j] == y[j] ? 0 : w[j] * (y[j] - b[j]) / down;
      slopes.above += after;
      slopes.below += before;
      const double rounding = kRounding * std::max({std::abs(w[j] * a[j]), std::abs(w[j] * b[j]), size});
      if (!(std::abs(after - before) > kClear * rounding / std::min(up, down))) after = before = part;
      slopes.low += std::min(after, before);
      slopes.high += std::max(after, before);
    }
  }
  // Assumes an error of 16 independent roundings in each output, and of 64 in the tape's gradient.
  slopes.noise =
      16 * kRounding * std::sqrt(changed) / (0.5 * (up + down)) + 64 * kRounding * std::sqrt(all) / size_of_x;
  return slopes;
}

SettledSlope settle_slope(double analytic, double step, double rtol, const MeasureSlopes& measure, double size) {
  const Slopes plain = measure(step);
  SettledSlope best{.numeric = plain.central,
                    .noise = plain.noise,
                    .below = plain.below,
                    .above = plain.above,
                    .plain = plain.central};
  size = std::max({size, std::abs(analytic), std::abs(plain.central)});
  if (step > kWhole) {
    const Slopes between = measure(0.05);
    best.doubtful = std::abs(between.central - plain.central) > 0.25 * size + between.noise;
  }
  const auto error = [&](double value) { return std::abs(value - analytic); };
  const double miss = error(plain.central);
  const bool right = !(miss > rtol * size);
  if (plain.jump() > std::max(1e-3 * size, kClear * plain.noise) && plain.jump() >= 0.5 * miss) {
    // The curvature of a smooth function shrinks with the step, and a nearby kink falls outside.
    const Slopes near = measure(step / 64);
    if (near.jump() > 0.05 * plain.jump()) {
      const double allowed = rtol * size + near.noise;
      best.kink = analytic >= near.low - allowed && analytic <= near.high + allowed;
      best.below = near.below;
      best.above = near.above;
      return best;
    }
    if (!right && error(near.central) <= rtol * size + near.noise)
      return {.numeric = near.central,
              .noise = near.noise,
              .below = near.below,
              .above = near.above,
              .plain = plain.central,
              .smaller_step = step / 64};
  }
  if (right || !(miss < 1e-3 * size || miss < kHidden * plain.noise)) return best;
  for (const double larger : {30.0, 1000.0}) {
    const double near = measure(larger * step).central;
    const double far = measure(2 * larger * step).central;
    const double value = (4 * near - far) / 3;
    best.by_larger.push_back(value);
    if (error(value) < error(best.numeric)) best.numeric = value;
  }
  return best;
}

}  // namespace tape::detail
