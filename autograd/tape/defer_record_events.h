#pragma once

#include "modes.h"
#include "tape.h"

namespace tape {

/// While in scope, delays the record events of each operation until the next one is recorded; flush() sends those of
/// the last one. Observers thus see the operations that compute an in-place write one after the other, and the last of
/// them with the tensor that was written instead of the temporary value. Not nested.
class DeferRecordEvents : NonCopyable {
 public:
  DeferRecordEvents();
  ~DeferRecordEvents();

  /// Sends the pending events; `output` is what the last recorded operation computed.
  void flush(const Tensor& output);

  /// Used by record_node(): send the pending events, and defer or send those of a new node.
  /// @{
  static void recording() {
    if (detail::modes.defer_record_events) [[unlikely]]
      send_pending();
  }
  static void recorded(const Ref<Node>& node, TensorList inputs, TensorList outputs, AttributeList attributes) {
    if (detail::modes.defer_record_events || detail::is_observed) [[unlikely]]
      defer_or_notify(node, inputs, outputs, attributes);
  }
  /// @}

 private:
  static void send_pending();
  static void defer_or_notify(const Ref<Node>& node, TensorList inputs, TensorList outputs, AttributeList attributes);

  Ref<Node> node_;
  Tensors inputs_, outputs_;
};

}  // namespace tape
