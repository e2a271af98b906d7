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

/// While in scope, is told of what this thread records, differentiates and runs: the one way to listen to the tape.
///
/// Derive and override the events of interest. Scopes may be nested, also several of one class, and every open one is
/// told of every event, the outermost first. A recorded operation calls on_use(), on_record() and on_node() of one
/// observer before it goes on to the next. What an event does itself (tensor operations, a backward) is not observed,
/// but by observers that it opens. An event that throws ends the operation or the backward with that exception, and the
/// observers inside are not told. An observer may be closed at any time, also inside an event; one that was opened
/// inside an event or an Unobserved scope sees nothing before it and must be closed by its end. It is of the thread
/// that opened it.
class Observer : NonCopyable {
 public:
  Observer();
  virtual ~Observer();

  /// An operation ran on these, recorded or not.
  virtual void on_use(TensorList inputs);
  /// An operation was recorded: what it was given and gave (autograd/tape/attributes.h). Called after on_use().
  virtual void on_record(const Op& op, TensorList inputs, TensorList outputs, AttributeList attributes);
  /// Its node, which is the outputs' now. Called after on_record().
  virtual void on_node(Node& node, TensorList outputs);
  /// The gradient function of a node is about to be called; what came before was other work of the backward.
  virtual void on_backward(const Node& node);
  /// It made `results`, one an input, of the gradients of the node's outputs; either may be undefined.
  virtual void on_backward_done(const Node& node, const Tensors& gradients, const Tensors& results);
  /// An attention was computed, by the fused kernel or composed; see autograd/ops/attention/attention_call.h.
  virtual void on_attention(const AttentionCall& call);
  /// Whether the attention that is about to be computed has to say its weights in AttentionCall::weights.
  virtual bool wants_attention_weights();
  /// A module runs, or has run, or was left by an exception; `path` is ModuleScope::path().
  virtual void on_module_enter(const std::string& path);
  virtual void on_module_leave(const std::string& path) noexcept;
};

/// While in scope, what this thread does is not observed, but by observers that are opened inside: for looking at a
/// tape with a tape of one's own.
class Unobserved : NonCopyable {
 public:
  Unobserved();
  ~Unobserved();

 private:
  const size_t previous_;
};

namespace detail {

extern constinit thread_local bool is_observed;
void tell_observers(const std::function<void(Observer&)>& event);

}  // namespace detail

/// Tells each observer of this thread of an event: one branch where there is none.
template <class Event>
void observe(Event&& event) {
  if (detail::is_observed) [[unlikely]]
    detail::tell_observers(event);
}

}  // namespace tape
