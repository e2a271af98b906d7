#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "../random.h"
#include "gradcheck.h"
#include "patterns.h"
#include "perturbed.h"

namespace tape::detail {

/// Makes the variables leaves while in scope.
class ScopedRequiresGrad : NonCopyable {
 public:
  explicit ScopedRequiresGrad(const std::vector<NamedTensor>& variables) {
    for (const NamedTensor& variable : variables) {
      if (variable.tensor.requires_grad()) continue;
      changed_.push_back(variable.tensor);
      changed_.back().requires_grad_();
    }
  }
  ~ScopedRequiresGrad() {
    for (Tensor& tensor : changed_)
      if (tensor.is_leaf()) tensor.requires_grad_(false);
  }

 private:
  Tensors changed_;
};

/// The f32 run of a function whose differences come from an f64 shadow: the function that computes the outputs, and the
/// leaves for its gradients, one per variable.
struct SinglePrecision {
  std::function<Tensors()> f;
  Tensors leaves;
};

/// Compares the gradients of a function without arguments with central differences at its variables' values.
class GradcheckRun {
 public:
  GradcheckRun(std::function<Tensors()> f, const std::vector<NamedTensor>& variables, const GradcheckOptions& options,
               bool zero_allowed, SinglePrecision single = {})
      : f_(std::move(f)),
        variables_(variables),
        options_(options),
        zero_allowed_(zero_allowed),
        single_(std::move(single)),
        rtol_(single_.f ? options.f32_rtol : options.rtol),
        atol_(single_.f ? 0.1 * options.f32_rtol : options.atol),
        leaves_(variables) {}

  GradcheckReport run();

 private:
  /// Recorded if `record`, or if the function differentiates something itself.
  Tensors evaluate(bool record);
  void make_head();
  Tensors evaluate_single();
  Tensors analytic_gradients();
  std::vector<int64_t> choose_elements(int64_t numel, int64_t most) const;
  /// Allots the next variable its share of the remaining time.
  void start_clock(size_t variable);
  bool time_is_up();
  /// Returns the slopes at a variable's element or, with a direction (f64, of the variable's shape), along it.
  Slopes slopes(const Tensor& variable, int64_t element, double step);
  Slopes slopes_along(const Tensor& variable, const Tensor& direction, double step);
  SlopePoint point(const Tensor& variable, int64_t element) const {
    const double value = value_at(variable, element);
    return {value, options_.eps * std::max(1.0, std::abs(value))};
  }
  bool by_directions(const Tensor& variable) const {
    return options_.directions > 0 && variable.numel() > options_.directions;
  }
  ComparedGradient compare(const NamedTensor& variable, const Tensor& gradient, int64_t most);
  GradcheckResult compare_along(const NamedTensor& variable, const Tensor& gradient);
  GradcheckResult judge(size_t which, const std::vector<ComparedGradient>& all);
  void explain(GradcheckResult& result, size_t which, const std::vector<ComparedGradient>& all);
  void find_guilty_operations(GradcheckReport& report);
  bool may_be_zero(const std::string& name) const {
    return zero_allowed_ || std::count(options_.allow_zero.begin(), options_.allow_zero.end(), name) > 0;
  }

  std::function<Tensors()> f_;
  const std::vector<NamedTensor>& variables_;
  const GradcheckOptions& options_;
  const bool zero_allowed_;
  SinglePrecision single_;  // without a function if everything is f64
  const double rtol_, atol_;
  const ForkRandom random_;
  ScopedRequiresGrad leaves_;
  bool differentiates_ = false;
  Tensors outputs_, head_;
  using Clock = std::chrono::steady_clock;
  Clock::time_point started_ = Clock::now(), deadline_;
  bool out_of_time_ = false;
  std::vector<GradcheckResult> along_;  // per variable; with directions if it was checked along some
};

}  // namespace tape::detail
