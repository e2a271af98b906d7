#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../tensor.h"

namespace tape::detail {

/// The slope of the sum of w y along one line, by differences of y in front of, at and behind a point.
struct Slopes {
  std::vector<double> parts = {};  // w_j (y_j(up) - y_j(down)) / (up + down), outputs one after the other
  double central = 0;              // their sum
  double below = 0;                // the slope of the side below the point alone
  double above = 0;                // and above it
  double low = 0, high = 0;        // the smallest and the largest slope where each output has that of either side
  double noise = 0;                // the error of `central` that rounding in y explains

  double jump() const { return high - low; }
};

/// Slopes from the outputs at x + up, x and x - down; `size` is max(1, |x|).
Slopes slopes_of(const Tensors& above, const Tensors& here, const Tensors& below, const Tensors& head, double up,
                 double down, double size = 1);

/// Slopes with a step of this length.
using MeasureSlopes = std::function<Slopes(double step)>;

/// What the differences say about one number of an analytic gradient.
struct SettledSlope {
  double numeric = 0;
  double noise = 0;
  bool kink = false;  // the sides of the point disagree at every step, and the analytic value lies between them
  double below = 0, above = 0;

  double plain = 0;            // the slope by the usual step
  bool doubtful = false;       // the step spans whole numbers, and between two of them the slope is another one
  double smaller_step = 0;     // the step that confirms the analytic value where the usual one does not, or 0
  bool wrong = false;          // a second step gives the same slope, and the analytic value is another one
  std::string undecided = "";  // why no step decides, or ""
  // What larger steps give, where rounding was suspected.
  std::vector<double> by_larger = {};
};

/// Differences with the plain step. Where the two sides disagree, smaller steps tell a kink at the point (they keep
/// their distance, and the analytic value lies between) from one nearby (they meet); where the analytic value is missed
/// by little, or by what rounding inside the function may be (a gradient that cancels to zero, as a key's bias under
/// softmax), larger steps with a formula of fourth order take the part of rounding. `size` is what errors are relative
/// to where it exceeds the values.
SettledSlope settle_slope(double analytic, double step, double rtol, const MeasureSlopes& measure, double size = 0);

/// A point at which a slope is measured: `value` is the element's, or 0 where several move at once.
struct SlopePoint {
  double value = 0;
  double step = 1e-6;
};

/// The second opinion on what settle_slope() found where that is not what the tape has: pairs of steps, each an eighth
/// of the one before, down to what rounding and the size of the value allow. A pair decides where its two slopes agree
/// far better than either agrees (wrong) or disagrees (right) with the analytic value, and where the two sides of the
/// point do not keep their distance, as they do across a kink or a pole. Sets kink, wrong or undecided, or none of
/// these where the analytic value is right.
SettledSlope verify_slope(double analytic, const SettledSlope& first, SlopePoint at, double rtol,
                          const MeasureSlopes& measure, double size = 0);

}  // namespace tape::detail
