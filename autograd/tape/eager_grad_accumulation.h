#pragma once

#include "scoped_value.h"

namespace tape {

/// While in scope, a backward of this thread accumulates a leaf's gradient and calls its hooks as soon as the last
/// operation that used the leaf has been differentiated, instead of at the end. Work on the gradients, such as their
/// exchange between processes, then overlaps with the rest of the backward. The values are bitwise identical.
///
/// A checkpointed segment counts as a user of everything its function used. Does not affect grad(), which calls no leaf
/// hooks.
class EagerGradAccumulation {
 public:
  EagerGradAccumulation();
  /// Whether this thread is in such a scope.
  static bool active();

 private:
  const detail::ScopedValue<bool> early_;
};

}  // namespace tape
