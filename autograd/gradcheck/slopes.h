#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../tensor.h"

namespace tape::detail {

/// Slope of the sum of w y along one line, by differences of y before, at and after a point.
struct Slopes {
  std::vector<double> parts = {};  // w_j (y_j(up) - y_j(down)) / (up + down), outputs one after the other
  double central = 0;              // their sum
  double below = 0;                // one-sided slope below the point
  double above = 0;                // one-sided slope above the point
  double low = 0, high = 0;        // smallest and largest slope if each output takes the slope of either side
  double noise = 0;                // error of `central` that rounding in y explains

  double jump() const { return high - low; }
};

/// Returns slopes from the outputs at x + up, x and x - down; `size` is max(1, |x|).
Slopes slopes_of(const Tensors& above, const Tensors& here, const Tensors& below, const Tensors& head, double up,
                 double down, double size = 1);

/// Returns slopes with a step of this length.
using MeasureSlopes = std::function<Slopes(double step)>;

/// Conclusion of the differences about one element of an analytic gradient.
struct SettledSlope {
  double numeric = 0;
  double noise = 0;
  bool kink = false;  // the one-sided slopes differ at every step, and the analytic value lies between them
  double below = 0, above = 0;

  double plain = 0;            // slope with the usual step
  bool doubtful = false;       // the step spans integers, and the slope between two of them differs
  double smaller_step = 0;     // the step that confirms the analytic value if the usual one does not, or 0
  bool wrong = false;          // a second step gives the same slope, which differs from the analytic value
  std::string undecided = "";  // why no step decides, or ""
  // Slopes of larger steps, if rounding was suspected.
  std::vector<double> by_larger = {};
};

/// Computes differences with the plain step. If the two sides disagree, smaller steps distinguish a kink at the point
/// (the sides stay apart, and the analytic value lies between) from a nearby one (they converge). If the analytic value
/// is missed by little, or by as much as rounding inside the function may explain (a gradient that cancels to zero,
/// like a key's bias under softmax), larger steps with a fourth-order formula reduce the rounding error. `size` is the
/// scale of errors if it exceeds the values.
SettledSlope settle_slope(double analytic, double step, double rtol, const MeasureSlopes& measure, double size = 0);

/// A point at which a slope is measured: `value` is the element's, or 0 if several move at once.
struct SlopePoint {
  double value = 0;
  double step = 1e-6;
};

/// Second opinion when settle_slope() disagrees with the tape: tries pairs of steps, each an eighth of the previous
/// one, down to the limit set by rounding and the size of the value. A pair decides if its two slopes agree with each
/// other far better than they agree (wrong) or disagree (right) with the analytic value, and if the two sides of the
/// point do not stay apart, as they do across a kink or a pole. Sets kink, wrong or undecided, or none of them if the
/// analytic value is right.
SettledSlope verify_slope(double analytic, const SettledSlope& first, SlopePoint at, double rtol,
                          const MeasureSlopes& measure, double size = 0);

}  // namespace tape::detail
