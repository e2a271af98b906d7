#pragma once

#include <utility>

#include "../../base/non_copyable.h"

namespace tape::detail {

/// Sets a variable to another value and restores it at the end of the scope.
template <class T>
class ScopedValue : NonCopyable {
 public:
  ScopedValue(T& variable, T value) : variable_(variable), previous_(std::exchange(variable, value)) {}
  ~ScopedValue() { variable_ = previous_; }

 private:
  T& variable_;
  const T previous_;
};

}  // namespace tape::detail
