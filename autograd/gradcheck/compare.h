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
  std::vector<size_t> undecided = {};  // which of them no step decides
  // Which of them the usual step gets wrong and a smaller one confirms.
  std::vector<size_t> large_steps = {};
  SettledSlope first_kink = {}, first_undecided = {}, first_large_step = {};

  double analytic_of(size_t checked) const { return analytic[static_cast<size_t>(elements[checked])]; }
  /// Multi-dimensional index of a checked element.
  std::vector<int64_t> index(size_t checked) const { return shape.unravel(elements[checked]); }

  using Settle = std::function<SettledSlope(size_t checked)>;
  using Verify = std::function<SettledSlope(size_t checked, const SettledSlope& first)>;
  /// Compares the elements one after the other with what `settle` finds for each, and marks those that are off. An
  /// element that is off, or at a kink, gets the second opinion `verify`, which decides. Where `enough` says so after
  /// one, the rest is left unchecked. The checked ones are then in ascending order.
  void compare(double rtol, double atol, const Settle& settle, const Verify& verify,
               const std::function<bool()>& enough = {});
  /// Counts, the largest error and where it is; without an explanation.
  GradcheckResult result(double rtol) const;

 private:
  bool is_right(size_t checked, double rtol, const SettledSlope& found, double floor) const;
  void sort_out(const std::vector<SettledSlope>& found, const std::vector<bool>& verified, double rtol, double atol);
};

}  // namespace tape::detail
