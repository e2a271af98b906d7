#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report.h"
#include "slopes.h"

namespace tape::detail {

/// Analytic and numeric gradients of one variable.
struct ComparedGradient {
  std::string name = {};
  Shape shape = {};
  std::vector<int64_t> elements = {};  // flat indices of the checked elements
  std::vector<double> analytic = {};   // of every element
  std::vector<double> numeric = {};    // of the checked elements
  std::vector<double> slack = {};      // of the checked elements: absolute error that rounding explains
  std::vector<size_t> wrong = {};      // checked elements that are wrong
  std::vector<size_t> kinks = {};      // checked elements at a kink, with nothing to compare with
  std::vector<size_t> undecided = {};  // checked elements that no step decides
  // Checked elements that the usual step gets wrong and a smaller one confirms.
  std::vector<size_t> large_steps = {};
  SettledSlope first_kink = {}, first_undecided = {}, first_large_step = {};

  double analytic_of(size_t checked) const { return analytic[static_cast<size_t>(elements[checked])]; }
  /// Returns the multi-dimensional index of a checked element.
  std::vector<int64_t> index(size_t checked) const { return shape.unravel(elements[checked]); }

  using Settle = std::function<SettledSlope(size_t checked)>;
  using Verify = std::function<SettledSlope(size_t checked, const SettledSlope& first)>;
  /// Compares the elements one by one with the result of `settle` and marks wrong ones. An element that is wrong or at
  /// a kink gets a second opinion from `verify`, which decides. If `enough` returns true after an element, the rest
  /// stays unchecked. The checked elements are then in ascending order.
  void compare(double rtol, double atol, const Settle& settle, const Verify& verify,
               const std::function<bool()>& enough = {});
  /// Returns counts, the largest error and its position, without an explanation.
  GradcheckResult result(double rtol) const;

 private:
  bool is_right(size_t checked, double rtol, const SettledSlope& found, double floor) const;
  void sort_out(const std::vector<SettledSlope>& found, const std::vector<bool>& verified, double rtol, double atol);
};

}  // namespace tape::detail
