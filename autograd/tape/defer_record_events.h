#pragma once

#include "tape.h"

namespace tape {

/// While in scope, this thread's observers are told that an operation was entered when the next one is recorded, and of
/// the last one by tell(): those that compute an in-place write are seen one after the other, and the last of them with
/// the tensor that was written, not with the values on their way there. Not nested.
class DeferRecordEvents : NonCopyable {
 public:
  DeferRecordEvents();
  ~DeferRecordEvents();

  /// The operation that was recorded last made `output`, which is on the tape.
  void tell(const Tensor& output);

  /// For record_node(): tells of what is held, and holds or tells of a new node.
  static void recording();
  static void entered(const Ref<Node>& node, TensorList inputs, TensorList outputs, AttributeList attributes);

 private:
  Ref<Node> node_;
  Tensors inputs_, outputs_;
};

}  // namespace tape
