#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "autograd/gradcheck.h"
#include "autograd/gradcheck_patterns.h"
#include "autograd/random.h"

namespace tape::detail {

/// Puts the random streams back to where they were when it was made, each time it is asked and at the end.
class FrozenStreams {
 public:
  FrozenStreams() {
    for (int i = 0; i < kStreams; ++i) states_[static_cast<size_t>(i)] = generator(static_cast<Stream>(i));
  }
  ~FrozenStreams() { reset(); }
  FrozenStreams(const FrozenStreams&) = delete;
  FrozenStreams& operator=(const FrozenStreams&) = delete;
  void reset() const {
    for (int i = 0; i < kStreams; ++i) generator(static_cast<Stream>(i)) = states_[static_cast<size_t>(i)];
  }

 private:
  std::array<Generator, kStreams> states_;
};

/// Makes leaves of the variables while in scope.
class GradientsOn {
 public:
  explicit GradientsOn(const std::vector<NamedTensor>& variables) {
    for (const NamedTensor& variable : variables) {
      if (variable.tensor.requires_grad()) continue;
      changed_.push_back(variable.tensor);
      changed_.back().requires_grad_();
    }
  }
  ~GradientsOn() {
    for (Tensor& tensor : changed_) tensor.requires_grad_(false);
  }
  GradientsOn(const GradientsOn&) = delete;
  GradientsOn& operator=(const GradientsOn&) = delete;

 private:
  Tensors changed_;
};

/// A gradient by central differences, and the error that rounding in f explains.
struct Difference {
  double value = 0;
  double noise = 0;
};

/// The gradients of a function without arguments, compared with central differences at its variables' values.
class Checker {
 public:
  Checker(std::function<Tensors()> f, const std::vector<NamedTensor>& variables, const GradcheckOptions& options,
          bool zero_allowed)
      : f_(std::move(f)), variables_(variables), options_(options), zero_allowed_(zero_allowed), leaves_(variables) {}

  GradcheckReport run();

 private:
  Tensors evaluate(bool record);
  void make_head();
  Tensors analytic_gradients();
  std::vector<int64_t> choose_elements(int64_t numel) const;
  /// w (y(x + h) - y(x - h)) / 2h for each element of the outputs, one after the other.
  std::vector<double> differences(const Tensor& variable, int64_t element, double step);
  Difference difference(const Tensor& variable, int64_t element, double step);
  double step(const Tensor& variable, int64_t element) const {
    return options_.eps * std::max(1.0, std::abs(variable.data<double>()[element]));
  }
  Difference nearest(const Tensor& variable, int64_t element, double analytic);
  ComparedGradient compare(const NamedTensor& variable, const Tensor& gradient);
  GradcheckResult judge(size_t which, const std::vector<ComparedGradient>& all);
  bool may_be_zero(const std::string& name) const {
    return zero_allowed_ || std::count(options_.allow_zero.begin(), options_.allow_zero.end(), name) > 0;
  }

  std::function<Tensors()> f_;
  const std::vector<NamedTensor>& variables_;
  const GradcheckOptions& options_;
  const bool zero_allowed_;
  FrozenStreams streams_;
  GradientsOn leaves_;
  Tensors outputs_, head_;
};

}  // namespace tape::detail
