#pragma once

#include <functional>

#include "exchanged.h"

namespace tape {

class Op;

namespace detail {

/// While in scope, is called on this thread when a custom operation that will be recorded is about to run its forward
/// function. Scopes may be nested; the innermost is called.
class OnCustomForward {
 public:
  explicit OnCustomForward(std::function<void(const Op&)> call);

  static void begin(const Op& op);

 private:
  const std::function<void(const Op&)> call_;
  const Exchanged<const OnCustomForward*> innermost_;
};

}  // namespace detail
}  // namespace tape
