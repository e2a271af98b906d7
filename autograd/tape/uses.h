#pragma once

#include <set>
#include <utility>

#include "tape.h"

namespace tape {

/// While in scope, gathers the tensors that need gradients, were made outside the scope, and were given to an operation
/// of this thread inside it, recorded or not: what a function uses, be it passed or captured.
class Uses {
 public:
  Uses();
  ~Uses();
  Uses(const Uses&) = delete;
  Uses& operator=(const Uses&) = delete;

  static Uses* active();
  /// An operation is about to run on these.
  void see(TensorList inputs);
  /// Each once, in the order of their first use.
  const Tensors& found() const { return found_; }

 private:
  Uses* const previous_;
  const uint64_t begin_;  // place in recording order
  std::set<std::pair<const Node*, uint32_t>> seen_;
  Tensors found_;
};

}  // namespace tape
