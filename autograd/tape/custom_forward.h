#pragma once

#include <functional>

namespace tape {

class Op;

namespace detail {

/// While in scope, is called on this thread when a custom operation that will be recorded is about to run its forward
/// function. Scopes may be nested; the innermost is called.
class OnCustomForward {
 public:
  explicit OnCustomForward(std::function<void(const Op&)> call);
  ~OnCustomForward();
  OnCustomForward(const OnCustomForward&) = delete;
  OnCustomForward& operator=(const OnCustomForward&) = delete;

  static void begin(const Op& op);

 private:
  const std::function<void(const Op&)> call_;
  const OnCustomForward* const previous_;
};

}  // namespace detail
}  // namespace tape
