#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../tape/tape.h"

namespace tape {

/// A call of an operation that the gradient check tries: f64 inputs, all differentiable, and a function of them.
struct OpSample {
  std::string label;
  Tensors inputs;
  std::function<Tensor(const Tensors&)> call;
  double step = 0;  ///< of the central differences; 0 is the check's own choice
};

/// An operation's entry in the registry: its name on the tape, and the samples that its gradient is checked with. The
/// test suite walks the registry, so an operation without a check cannot exist.
class Op {
 public:
  /// `samples` is called when the registry is checked, not at start-up.
  Op(const char* name, std::function<std::vector<OpSample>()> samples);
  /// An operation outside the registry: without samples, for custom() and for operations that are made at run time.
  explicit Op(const char* name) : name_(name) {}
  Op(const Op&) = delete;
  Op& operator=(const Op&) = delete;

  const char* name() const { return name_; }
  std::vector<OpSample> samples() const { return samples_ ? samples_() : std::vector<OpSample>(); }

 private:
  const char* name_;
  std::function<std::vector<OpSample>()> samples_;
};

/// Every operation, ordered by name.
std::vector<const Op*> registered_ops();

/// Values for samples: f64, normal, from a generator of their own so that each call gives the same.
Tensor sample_normal(const Shape& shape, uint64_t seed = 1);
/// f64, uniform in [low, high).
Tensor sample_uniform(const Shape& shape, double low, double high, uint64_t seed = 1);
/// f64, distinct values at least 0.1 apart in random order: for max, sort and kinks.
Tensor sample_distinct(const Shape& shape, uint64_t seed = 1);

}  // namespace tape
