#pragma once

#include <functional>
#include <string>

#include "../tensor.h"

namespace tape {

class AttributeList;
class Op;
class Node;
class TensorList;
struct AttentionCall;

/// While in scope, receives events about what this thread records, differentiates and runs.
///
/// Derive from it and override the events of interest. Scopes may be nested, also of one class; every open observer
/// receives every event, outermost first. For a recorded operation, one observer receives on_use(), on_record() and
/// on_node() before the next observer does. Whatever an event handler does itself (tensor operations, a backward) is
/// only seen by observers that it opens. An exception thrown by a handler ends the operation or the backward, and the
/// inner observers do not receive the event. An observer may be closed at any time, also inside a handler; one opened
/// inside a handler or a HideObservers scope must be closed before its end. An observer belongs to the thread that
/// opened it.
class Observer : NonCopyable {
 public:
  Observer();
  virtual ~Observer();

  /// An operation ran on these inputs, recorded or not.
  virtual void on_use(TensorList inputs);
  /// An operation was recorded with these inputs, outputs and attributes. Called after on_use().
  virtual void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes);
  /// The node of the recorded operation, now attached to its outputs. Called after on_record().
  virtual void on_node(Node& node, TensorList outputs);
  /// The gradient function of a node is about to be called.
  virtual void on_backward(const Node& node);
  /// The gradient function returned `results`, one per input, for the given output gradients; either may be undefined.
  virtual void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results);
  /// Attention was computed, by the fused kernel or composed; see autograd/ops/attention/attention_call.h. Changes of
  /// the call are seen by inner observers only.
  virtual void on_attention(AttentionCall& call);
  /// Whether the results that on_backward_done() receives must be the gradients of that operation alone. Otherwise an
  /// operation may add its own to what others have given the same tensor, which is faster
  /// (BackwardContext::grad_sum()).
  virtual bool needs_each_gradient();
  /// Whether attention must return its weights in AttentionCall::weights.
  virtual bool wants_attention_weights();
  /// A module starts, or has ended, normally or by an exception; `path` is ModuleScope::path().
  /// @{
  virtual void on_module_enter(const std::string& path);
  virtual void on_module_leave(const std::string& path) noexcept;
  /// @}
};

/// While in scope, this thread's activity is only seen by observers opened inside: for inspecting a tape with tensor
/// operations.
class HideObservers : NonCopyable {
 public:
  HideObservers();
  ~HideObservers();

 private:
  const size_t previous_;
};

namespace detail {

extern constinit thread_local bool is_observed;
void tell_observers(const std::function<void(Observer&)>& event);

}  // namespace detail

/// Sends an event to each observer of this thread; costs one branch if there is none.
template <class Event>
void observe(Event&& event) {
  if (detail::is_observed) [[unlikely]]
    detail::tell_observers(event);
}

}  // namespace tape
