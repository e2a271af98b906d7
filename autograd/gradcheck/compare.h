#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report.h"
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
  std::vector<int64_t> index(size_t checked) const { return shape.unravel(elements[checked]); }

  /// Compares the elements one after the other with what `settle` finds for each, and marks those that are off. Where
  /// `enough` says so after one, the rest is left unchecked. The checked ones are then in ascending order.
  void compare(double rtol, double atol, const std::function<SettledSlope(size_t checked)>& settle,
               const std::function<bool()>& enough = {});
  /// Counts, the largest error and where it is; without an explanation.
  GradcheckResult result(double rtol) const;
};

}  // namespace tape::detail
