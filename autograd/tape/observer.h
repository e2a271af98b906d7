#pragma once

#include "tape.h"

namespace tape {

/// While in scope, sees each operation that this thread records, and each gradient that it computes.
class Observer {
 public:
  Observer();
  virtual ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  static Observer* active();

  /// An operation gave its outputs and is about to be recorded.
  virtual void recorded(const Op& op, TensorList inputs, TensorList outputs);
  /// It is on the tape: `node` is the outputs' node now.
  virtual void entered(const Node& node, TensorList outputs);
  /// The gradient function of a node made `results`, one an input, of the gradients of its outputs; either may be
  /// undefined.
  virtual void differentiated(const Node& node, const Tensors& gradients, const Tensors& results);

 private:
  Observer* const previous_;
};

}  // namespace tape
