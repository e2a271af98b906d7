#pragma once

#include <iterator>
#include <vector>

#include "../tensor.h"

namespace tape::detail {

/// One element of a tensor that is moved and restored.
class Perturbed : NonCopyable {
 public:
  Perturbed(const Tensor& tensor, int64_t element) : tensor_(tensor), element_(element), value_(place()) {}
  ~Perturbed() {
    if (tensor_.dtype() == f64 && element_ < tensor_.numel()) place() = value_;  // unless the function replaced it
  }
  double value() const { return value_; }
  void move_to(double value) { place() = value; }

 private:
  double& place() { return tensor_.mutable_data<double>()[element_]; }
  Tensor tensor_;
  int64_t element_;
  double value_;
};

/// All elements of a tensor, moved along a direction and restored.
class PerturbedAlong : NonCopyable {
 public:
  PerturbedAlong(const Tensor& tensor, const Tensor& direction)
      : tensor_(tensor), direction_(direction), values_(tensor.to_vector<double>()) {}
  ~PerturbedAlong() {
    if (tensor_.dtype() == f64 && std::ssize(values_) == tensor_.numel())
      move_to(0);  // unless the function replaced it
  }
  void move_to(double by) {
    double* to = tensor_.mutable_data<double>();
    const double* v = direction_.data<double>();
    for (size_t i = 0; i < values_.size(); ++i) to[i] = by == 0 ? values_[i] : values_[i] + by * v[i];
  }

 private:
  Tensor tensor_, direction_;
  std::vector<double> values_;
};

}  // namespace tape::detail
