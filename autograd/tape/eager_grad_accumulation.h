#pragma once

#include "exchanged.h"

namespace tape {

/// While in scope, a backward of this thread gathers the gradient of a leaf, and calls its hooks, as soon as the last
/// operation that used the leaf has been differentiated, and not behind all operations: what becomes of the gradients
/// (their exchange between processes) goes on while the rest is computed. The values are the same, bit for bit.
///
/// A checkpointed segment counts as the operation that used what its function used. In grad(), which calls no leaf's
/// hooks, nothing changes.
class EagerGradAccumulation {
 public:
  EagerGradAccumulation();
  /// Whether this thread is in such a scope.
  static bool active();

 private:
  const detail::Exchanged<bool> early_;
};

}  // namespace tape
