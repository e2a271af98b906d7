#pragma once

#include <deque>
#include <unordered_map>

#include "../tape/tape.h"

namespace tape {

/// While in scope, saves the inputs and outputs of each operation that this thread records, and the gradients of the
/// last backward. It changes no value; saved tensors take memory.
class TapeValues : public Observer {
 public:
  /// One recorded operation. Tensors are detached; undefined ones were not given, or no gradient arrived.
  struct Step {
    uint64_t sequence = 0;  ///< of its node
    /// Of the call. The values are not copied.
    /// @{
    Tensors inputs, outputs;
    /// @}
    Tensors gradients;      ///< of the outputs, as passed to its gradient function
    Tensors contributions;  ///< result of that function for each input, in the shape of the output it was broadcast to
    int64_t recorded = 0;   ///< number of operations recorded before it
    int64_t replayed = -1;  ///< number of gradient functions called before its own; -1: not called

    /// Returns what the node's backward sends to input i, in the input's shape; undefined if nothing.
    Tensor contribution(size_t i) const;
  };

  /// Steps in the order recorded.
  const std::deque<Step>& steps() const { return steps_; }
  /// Returns the step of a node; null for leaves and nodes recorded outside the scope.
  const Step* find(const Node& node) const;
  /// Clears the gradients, so that they are not mistaken for another backward's.
  void forget_gradients();

 private:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_node(Node& node, TensorList outputs) override;
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override;

  std::deque<Step> steps_;
  std::unordered_map<uint64_t, size_t> places_;  // by sequence number: a later node may reuse an address
  Tensors inputs_;                               // of the operation being recorded
  int64_t replayed_ = 0;
};

}  // namespace tape
