#pragma once

#include <functional>

#include "scoped_value.h"

namespace tape {

class Op;

namespace detail {

/// While in scope, called on this thread before the forward function of a custom operation that will be recorded.
/// Scopes may be nested; only the innermost is called.
class OnCustomForward {
 public:
  explicit OnCustomForward(std::function<void(const Op&)> call);

  static void begin(const Op& op);

 private:
  const std::function<void(const Op&)> call_;
  const ScopedValue<const OnCustomForward*> innermost_;
};

}  // namespace detail
}  // namespace tape
