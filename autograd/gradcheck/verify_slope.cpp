#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "autograd/gradcheck/slopes.h"

namespace tape::detail {
namespace {

/// Ratio of successive steps of the ladder.
constexpr double kRatio = 8;
constexpr int kRungs = 10;
/// Smallest step in units of a value's spacing in f64.
constexpr double kSpacings = 4;
/// Largest relative uncertainty at which a pair of steps may confirm a gradient.
constexpr double kSharp = 1e-4;
/// Steps below this one, at values of ordinary size, show the rounding of f32.
constexpr double kLargestRounding = 1e-3;
/// Largest relative difference between the slopes of a pair that may call a gradient wrong.
constexpr double kAlike = 1e-3;

struct Rung {
  double step = 0;
  Slopes slopes;
};

bool side_is_finite(const Slopes& slopes) { return std::isfinite(slopes.above) || std::isfinite(slopes.below); }

class SecondOpinion {
 public:
  SecondOpinion(double analytic, const SettledSlope& first, SlopePoint at, double rtol, const MeasureSlopes& measure,
                double size)
      : analytic_(analytic), first_(first), at_(at), rtol_(rtol), measure_(measure), size_(size) {}

  SettledSlope run();

 private:
  enum class Answer { none, right, wrong };

  std::vector<double> steps_below(double step) const;
  Rung rung(double step) const { return {step, measure_(step)}; }
  Answer ask(const Rung& coarse, const Rung& fine, SettledSlope& found) const;
  bool keeps_its_jump(const Rung& coarse, const Rung& fine) const;
  /// Spacing of f64 numbers at the value.
  double spacing() const { return std::nextafter(std::abs(at_.value), INFINITY) - std::abs(at_.value); }
  bool agree(const Rung& coarse, const Rung& fine) const;
  bool is_smooth_from(const Rung& plain) const;
  bool is_contradicted(const Rung& fine, double value) const;
  bool descend(const Rung& from, SettledSlope& found);
  bool stays_a_kink(SettledSlope& found);
  bool wrong_by_larger_steps() const;
  SettledSlope undecided_result() const;

  const double analytic_;
  const SettledSlope& first_;
  const SlopePoint at_;
  const double rtol_;
  const MeasureSlopes& measure_;
  const double size_;
  double plain_noise_ = 0;
  std::vector<Rung> seen_;
};

/// Returns steps of the ladder below this one, down to well below the value, so that they do not cross zero.
std::vector<double> SecondOpinion::steps_below(double step) const {
  const double x = std::abs(at_.value);
  const double least = std::max(kSpacings * spacing(), at_.step * std::pow(kRatio, -kRungs));
  std::vector<double> steps;
  double next = step / kRatio;
  for (; next >= least; next /= kRatio) steps.push_back(next);
  if (x == 0 || x >= at_.step) return steps;
  for (next = std::min(next, x / 64); next > std::max(x / 1e5, kSpacings * spacing()); next /= kRatio)
    steps.push_back(next);
  return steps;
}

/// Whether the one-sided slopes stay apart as the step shrinks. Those of a smooth function converge.
bool SecondOpinion::keeps_its_jump(const Rung& coarse, const Rung& fine) const {
  const double jump = fine.slopes.jump();
  const double size = std::max({std::abs(analytic_), std::abs(fine.slopes.central), size_});
  return !(jump <= 0.5 * coarse.slopes.jump()) && !(jump <= 8 * fine.slopes.noise) &&
         !(std::isfinite(size) && jump <= rtol_ * size);
}

SecondOpinion::Answer SecondOpinion::ask(const Rung& coarse, const Rung& fine, SettledSlope& found) const {
  const double near = fine.slopes.central, far = coarse.slopes.central;
  if (!std::isfinite(near) || !std::isfinite(far)) return Answer::none;
  const double ratio = coarse.step / fine.step;
  const double value = near + (near - far) / (ratio * ratio - 1);
  const double unsure = std::abs(near - far) + fine.slopes.noise + coarse.slopes.noise;
  const bool finite = std::isfinite(analytic_);
  const double size = std::max({finite ? std::abs(analytic_) : 0.0, std::abs(value), size_});
  const double miss = std::abs(analytic_ - value);
  const bool jumps = keeps_its_jump(coarse, fine);
  const bool sharp = unsure <= std::max(kSharp * size, 64 * plain_noise_);
  found.numeric = value;
  found.noise = unsure;
  found.below = fine.slopes.below;
  found.above = fine.slopes.above;
  if (!finite) return sharp && !jumps ? Answer::wrong : Answer::none;
  if (sharp && !jumps && miss <= rtol_ * size + unsure) return Answer::right;
  // Across a kink the one-sided slopes stay apart; across a pole their distance grows and exceeds the slope.
  const double jump = fine.slopes.jump();
  const bool pole = jump > 1.5 * coarse.slopes.jump() && jump > 0.5 * std::abs(near);
  if (jumps && (jump >= 0.25 * miss || pole)) return Answer::none;
  const bool wrong = agree(coarse, fine) && miss > rtol_ * size + 3 * unsure;
  return wrong && !is_contradicted(fine, value) ? Answer::wrong : Answer::none;
}

/// Whether a step that spans many integers has a different slope than one between two integers, as for a function that
/// rounds.
bool SecondOpinion::is_contradicted(const Rung& fine, double value) const {
  constexpr double kBetween = 0.05;
  const double step = std::max(kBetween, 256 * spacing());
  if (fine.step <= kRatio * step) return false;
  const Slopes near = measure_(step);
  const double away = std::abs(near.central - value);
  return away > 0.25 * std::abs(analytic_ - value) + near.noise && std::abs(near.central - analytic_) < away;
}

/// Whether a pair agrees on one slope or, with the previous rung, on slopes that go to zero. Steps that span a pole or
/// many periods of a function give slopes that grow as the steps shrink.
bool SecondOpinion::agree(const Rung& coarse, const Rung& fine) const {
  const double near = std::abs(fine.slopes.central), far = std::abs(coarse.slopes.central);
  const double noise = fine.slopes.noise + coarse.slopes.noise;
  if (std::abs(fine.slopes.central - coarse.slopes.central) <= kAlike * near + noise) return true;
  if (seen_.size() < 3 || &fine != &seen_.back()) return false;
  return near < 0.5 * far && far < 0.5 * std::abs(seen_[seen_.size() - 3].slopes.central);
}

/// Whether the function looks smooth at the usual step and at a larger one, with the same slope. Then what smaller
/// steps show is rounding, for example of an f32 part.
bool SecondOpinion::is_smooth_from(const Rung& plain) const {
  if (plain.step > kLargestRounding) return false;
  // Slopes across a pole or a kink differ between steps or between the two sides.
  const double size = std::min(std::abs(plain.slopes.central), std::abs(plain.slopes.central - analytic_));
  const Slopes larger = measure_(kRatio * plain.step);
  return std::abs(larger.central - plain.slopes.central) <= 0.25 * size && larger.jump() < 0.5 * size &&
         plain.slopes.jump() < 0.5 * size;
}

/// Descends the ladder until a pair of steps decides.
bool SecondOpinion::descend(const Rung& from, SettledSlope& found) {
  seen_.push_back(from);
  for (const double step : steps_below(from.step)) {
    seen_.push_back(rung(step));
    const Answer answer = ask(seen_[seen_.size() - 2], seen_.back(), found);
    if (answer == Answer::none) continue;
    found.wrong = answer == Answer::wrong;
    if (!found.wrong && step < at_.step) found.smaller_step = step;
    return true;
  }
  return false;
}

/// Whether the sides of a kink also stay apart at much smaller steps, and at steps that do not reach zero; if not, the
/// ladder decides.
bool SecondOpinion::stays_a_kink(SettledSlope& found) {
  double jump = std::abs(first_.above - first_.below);
  const auto meet = [&](double step) {
    const Rung nearer = rung(step);
    const double before = std::exchange(jump, nearer.slopes.jump());
    return jump <= 0.5 * before && descend(nearer, found);
  };
  const double x = std::abs(at_.value);
  const double least = std::max(1e-12, kSpacings * spacing());
  for (double step = at_.step / 4096; step >= least; step /= 64)
    if (meet(step)) return false;
  if (x == 0 || x >= at_.step) return true;
  jump = rung(x / 64).slopes.jump();
  return !meet(x / 512);
}

bool SecondOpinion::wrong_by_larger_steps() const {
  if (first_.by_larger.size() < 2) return false;
  const double a = first_.by_larger[0], b = first_.by_larger[1];
  return std::abs(a - b) <= 0.25 * std::min(std::abs(a - analytic_), std::abs(b - analytic_));
}

/// A kink too small to be detected at first, a value outside of what a kink allows, or no conclusion.
SettledSlope SecondOpinion::undecided_result() const {
  SettledSlope found = first_;
  const auto side = std::find_if(seen_.begin(), seen_.end(), [](const Rung& r) { return side_is_finite(r.slopes); });
  const auto both =
      std::find_if(seen_.begin(), seen_.end(), [](const Rung& r) { return std::isfinite(r.slopes.central); });
  if (both == seen_.end()) {
    found.undecided = side == seen_.end() ? "the function is not finite there"
                                          : fmt::format("the function is not finite {} it",
                                                        std::isfinite(side->slopes.above) ? "below" : "above");
    return found;
  }
  for (size_t i = seen_.size() - 1; i > 0; --i) {
    const Slopes& slopes = seen_[i].slopes;
    if (!std::isfinite(slopes.central) || !keeps_its_jump(seen_[i - 1], seen_[i])) continue;
    const double allowed = rtol_ * std::max(std::abs(analytic_), std::abs(slopes.central)) + slopes.noise;
    const double outside = std::max(slopes.low - analytic_, analytic_ - slopes.high);
    found.below = slopes.below;
    found.above = slopes.above;
    // Slopes that stay the same as the step shrinks are those of the two sides.
    const bool settled = std::abs(seen_[i - 1].slopes.jump() - slopes.jump()) <= 0.2 * slopes.jump();
    found.kink = settled && outside <= allowed;
    found.wrong = settled && !(outside <= 3 * allowed);
    if (found.kink || found.wrong) return found;
    break;
  }
  double low = INFINITY, high = -INFINITY;
  for (const Rung& r : seen_) {
    if (!std::isfinite(r.slopes.central)) continue;
    low = std::min(low, r.slopes.central);
    high = std::max(high, r.slopes.central);
  }
  found.undecided = fmt::format("the differences do not converge: steps from {:.3g} to {:.3g} give {:.4g} to {:.4g}",
                                seen_.front().step, seen_.back().step, low, high);
  return found;
}

SettledSlope SecondOpinion::run() {
  SettledSlope found = first_;
  found.kink = found.wrong = false;
  if (first_.kink) return stays_a_kink(found) ? first_ : found;
  if (wrong_by_larger_steps()) {
    found.wrong = true;
    return found;
  }
  const Rung plain = rung(at_.step);
  plain_noise_ = plain.slopes.noise;
  if (descend(plain, found)) {
    if (found.smaller_step > 0 && is_smooth_from(plain)) {
      found = first_;
      found.wrong = true;
    }
    // For a wrong gradient, reports the plain step's slope if the other confirms it.
    if (found.wrong && std::abs(found.numeric - first_.numeric) <= found.noise) found.numeric = first_.numeric;
    if (found.wrong) found.noise = std::min(found.noise, first_.noise);
    return found;
  }
  const Rung larger = rung(kRatio * at_.step);
  if (const Answer answer = ask(larger, plain, found); answer != Answer::none) {
    found.wrong = answer == Answer::wrong;
    return found;
  }
  return undecided_result();
}

}  // namespace

SettledSlope verify_slope(double analytic, const SettledSlope& first, SlopePoint at, double rtol,
                          const MeasureSlopes& measure, double size) {
  return SecondOpinion(analytic, first, at, rtol, measure, size).run();
}

}  // namespace tape::detail
