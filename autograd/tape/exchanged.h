#pragma once

#include <utility>

namespace tape::detail {

/// While in scope, a variable has another value.
template <class T>
class Exchanged {
 public:
  Exchanged(T& variable, T value) : variable_(variable), previous_(std::exchange(variable, value)) {}
  ~Exchanged() { variable_ = previous_; }
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;

 private:
  T& variable_;
  const T previous_;
};

}  // namespace tape::detail
