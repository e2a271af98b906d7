#pragma once

#include <utility>

#include "../../base/non_copyable.h"

namespace tape::detail {

/// While in scope, a variable has another value.
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
