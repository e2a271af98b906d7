#pragma once

#include <iterator>
#include <vector>

#include "../device_memory.h"
#include "../tensor.h"

namespace tape::detail {

/// Reads or writes one element of an f64 tensor on any device.
/// @{
inline double value_at(const Tensor& tensor, int64_t element) {
  double value = 0;
  copy_bytes(cpu, &value, tensor.device(), tensor.device_data<double>() + element, sizeof value);
  return value;
}
inline void set_value_at(Tensor& tensor, int64_t element, double value) {
  copy_bytes(tensor.device(), tensor.mutable_device_data<double>() + element, cpu, &value, sizeof value);
}
/// @}

/// One element of a tensor that is moved and restored.
class Perturbed : NonCopyable {
 public:
  Perturbed(const Tensor& tensor, int64_t element)
      : tensor_(tensor), element_(element), value_(value_at(tensor, element)) {}
  ~Perturbed() {
    if (tensor_.dtype() == f64 && element_ < tensor_.numel()) move_to(value_);  // unless the function replaced it
  }
  double value() const { return value_; }
  void move_to(double value) { set_value_at(tensor_, element_, value); }

 private:
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
    std::vector<double> moved = values_;
    const double* v = direction_.data<double>();
    if (by != 0)
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += by * v[i];
    copy_bytes(tensor_.device(), tensor_.mutable_device_data<double>(), cpu, moved.data(),
               std::ssize(moved) * int64_t{sizeof(double)});
  }

 private:
  Tensor tensor_, direction_;
  std::vector<double> values_;
};

}  // namespace tape::detail
