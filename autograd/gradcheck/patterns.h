#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gradcheck.h"
#include "slopes.h"

namespace tape::detail {

/// The gradients of one variable, analytic and numeric.
struct ComparedGradient {
  std::string name = {};
  Shape shape = {};
  std::vector<int64_t> elements = {};  // flat indices of the checked elements
  std::vector<double> analytic = {};   // of every element
  std::vector<double> numeric = {};    // of the checked ones
  std::vector<double> slack = {};      // of the checked ones: the absolute error that rounding explains
  std::vector<size_t> wrong = {};      // which of the checked ones are off
  std::vector<size_t> kinks = {};      // which of them lie at a kink, where there is nothing to compare with
  SettledSlope first_kink = {};

  double analytic_of(size_t checked) const { return analytic[static_cast<size_t>(elements[checked])]; }
  /// Multi-dimensional index of a checked element.
  std::vector<int64_t> index(size_t checked) const;

  /// Compares the checked elements one after the other with what `settle` finds for each, and marks those that are off.
  void compare(double rtol, double atol, const std::function<SettledSlope(size_t checked)>& settle);
  /// Counts, the largest error and where it is; without an explanation.
  GradcheckResult result(double rtol) const;
};

/// By output element: how much of the numeric gradient of a checked element comes through it.
using Contributions = std::function<std::vector<double>(size_t checked)>;

/// What the wrong elements have in common, as a sentence or two: constant factor, sign, transposed, swapped with
/// another variable, a missing sum, some rows only. `output` is the shape that contributions are given for.
std::string explain_wrong(const ComparedGradient& variable, const std::vector<ComparedGradient>& all,
                          const Shape& output, const Contributions& contributions);

}  // namespace tape::detail
