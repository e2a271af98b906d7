#pragma once

#include <deque>
#include <unordered_map>

#include "../tape/tape.h"

namespace tape {

/// While in scope, keeps what each operation that this thread records was given and gave, and the gradients of the last
/// backward: all that can be seen of a tape. It changes no value; it costs the memory of what it keeps.
class TapeValues : public Observer {
 public:
  /// One recorded operation. Tensors are without history; undefined ones were not given, or no gradient arrived.
  struct Step {
    uint64_t sequence = 0;  ///< its node's
    Tensors inputs, outputs;
    Tensors gradients;      ///< of the outputs, when its gradient function was called
    Tensors contributions;  ///< what that gave for each input, in the shape of the output it was broadcast to
    int64_t recorded = 0;   ///< how many operations were recorded before it
    int64_t replayed = -1;  ///< how many gradient functions were called before its own; -1: it was not called

    /// What the node's backward sends to input i, in the input's shape; undefined where nothing.
    Tensor contribution(size_t i) const;
  };

  /// In the order recorded.
  const std::deque<Step>& steps() const { return steps_; }
  /// Of a node; null for leaves and for what was recorded outside of the scope.
  const Step* find(const Node& node) const;
  /// Forgets the gradients, so that those of another backward cannot be taken for them.
  void forget_gradients();

 private:
  void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes) override;
  void on_node(Node& node, TensorList outputs) override;
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results) override;

  std::deque<Step> steps_;
  std::unordered_map<uint64_t, size_t> places_;  // by sequence: an address may be a later node's
  Tensors inputs_;                               // of the operation that is being recorded
  int64_t replayed_ = 0;
};

}  // namespace tape
