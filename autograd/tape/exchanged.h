#pragma once

#include <utility>

#include "../../base/non_copyable.h"

namespace tape::detail {

/// Sets a variable to another value and restores it at the end of the scope.
template <class T>
class Exchanged : NonCopyable {
 public:
  Exchanged(T& variable, T value) : variable_(variable), previous_(std::exchange(variable, value)) {}
  ~Exchanged() { variable_ = previous_; }

 private:
  T& variable_;
  const T previous_;
};

}  // namespace tape::detail
