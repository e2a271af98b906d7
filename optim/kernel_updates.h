#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "../autograd/kernels/training/optimizer.h"

namespace tape::optim {

/// Groups updates with equal settings: rates, decay and step count.
template <class Step>
class StepTable {
 public:
  /// Returns the index of the group with these settings, adding it if necessary.
  int64_t group(const Step& step) {
    const auto found = std::find(steps_.begin(), steps_.end(), step);
    if (found != steps_.end()) return found - steps_.begin();
    steps_.push_back(step);
    return std::ssize(steps_) - 1;
  }
  int64_t size() const { return std::ssize(steps_); }
  const Step* data() const { return steps_.data(); }

 private:
  std::vector<Step> steps_;
};

/// Updates of parameters of both dtypes.
template <template <class> class Update>
struct UpdatesByDtype {
  std::vector<Update<float>> singles = {};
  std::vector<Update<double>> doubles = {};

  template <class T>
  std::vector<Update<T>>& of() {
    if constexpr (std::is_same_v<T, float>)
      return singles;
    else
      return doubles;
  }
  /// Calls run(count, updates) for each dtype.
  template <class Run>
  void run(const Run& run) const {
    run(std::ssize(singles), singles.data());
    run(std::ssize(doubles), doubles.data());
  }
};

}  // namespace tape::optim
