#pragma once

#include <map>
#include <memory>
#include <span>

#include "../tensor.h"
#include "attributes.h"
#include "backward.h"
#include "observer.h"
#include "packed_tensor.h"
#include "saved_tensor_hooks.h"
#include "scope.h"
#include "trace.h"

namespace tape {

/// Tensors given to a function as a list in braces or as a vector.
class TensorList {
 public:
  TensorList(std::initializer_list<Tensor> tensors) : size_(tensors.size()) { begin_ = tensors.begin(); }
  TensorList(const Tensors& tensors) : begin_(tensors.data()), size_(tensors.size()) {}
  TensorList(std::span<const Tensor> tensors) : begin_(tensors.data()), size_(tensors.size()) {}
  const Tensor* begin() const { return begin_; }
  const Tensor* end() const { return begin_ + size_; }
  size_t size() const { return size_; }
  const Tensor& operator[](size_t i) const { return begin_[i]; }

 private:
  const Tensor* begin_ = nullptr;
  size_t size_;
};

/// What the gradient function of a node is given.
class BackwardContext {
 public:
  /// `last`: the saved values are dropped when the gradient function has run.
  BackwardContext(const Node& node, const Tensors& gradients, const std::vector<bool>& needed, bool last)
      : node_(node), gradients_(gradients), needed_(needed), last_(last) {}

  /// Gradient of output i; zeros where none arrived. Error (graph) where there is no such output.
  Tensor grad(size_t i = 0) const;
  /// Whether there is an output i and its gradient arrived.
  bool has_grad(size_t i) const { return i < gradients_.size() && gradients_[i].defined(); }
  /// Saved value i. Error (graph) where there is none, and where it was changed in place since.
  Tensor saved(size_t i) const;
  /// Memory for a result as large as saved value i: its own where nobody will look at it again, so that the result may
  /// be written over it, else new memory.
  Tensor reuse_saved_or_empty(size_t i) const;
  /// Whether somebody wants the gradient of input i.
  bool needs(size_t i) const { return i < needed_.size() && needed_[i]; }
  /// Whether the gradient itself will be differentiated: then it must be made of tensor operations.
  bool create_graph() const { return grad_enabled(); }

 private:
  const Node& node_;
  const Tensors& gradients_;
  const std::vector<bool>& needed_;
  const bool last_;
  mutable std::map<size_t, Tensor> unpacked_;
};

/// Gradients of the inputs, in their order; an undefined one is zero. A gradient may have a shape that the input was
/// broadcast to: the tape sums it back.
using BackwardFunction = std::function<Tensors(const BackwardContext&)>;

/// How an output is made once more; see Rematerialize.
class OutputRecipe;

/// A part of the tape that is not recorded, but made anew when the backward comes to it; see checkpoint().
class Segment {
 public:
  virtual ~Segment() = default;
  /// The outputs of the node that stands for it, recorded, one for each.
  virtual Tensors run_again(const Node& node, const BackwardContext& context) const = 0;
};

/// One recorded operation, a segment, or a leaf. Nodes refer to the nodes of their inputs; the tape is what the tensors
/// in use reach.
class Node : public RefCounted {
 public:
  struct Edge {
    Ref<Node> node;  // null where the input needs no gradient, and where a freed node let go of it
    uint32_t output = 0;
    // Where it was let go: the places in recording order between which lies all that it may have led to.
    uint64_t earliest = 1, latest = 0;
  };
  /// Is called with a gradient that arrives, or with the sum that a leaf has gathered.
  struct Hook {
    int64_t handle;
    GradientHook arriving = {};
    PostAccumulateGradHook gathered = {};
  };
  struct Output {
    Shape shape;
    DType dtype;
    bool retain = false;
    Tensor grad;
    std::vector<Hook> hooks;
    uint64_t version = 0;  // of the values that the operation made
  };
  struct Saved {
    Tensor value;           // without history where it is an output of this very node; undefined where it is packed
    int output = -1;        // which output, or -1
    uint32_t replaced = 0;  // times that set_data() had given the tensor other values
    uint64_t version = 0;
    std::unique_ptr<const PackedTensor> packed = nullptr;
  };

  Node();  ///< takes the next place in recording order

  const char* name() const;
  bool is_leaf() const { return op == nullptr; }
  /// Drops everything that the gradient function needed. What the node leads to stays known, so that a gradient which
  /// would have to pass it is refused and not left out.
  void release_saved();

  const Op* op = nullptr;
  Attributes attributes;    // what the call was given beside tensors; a backward does not free them
  const uint64_t sequence;  // place in recording order
  bool released = false;
  bool frozen = false;           // a leaf whose tensor does not require gradients at present
  Node* next_to_free = nullptr;  // of dispose()
  std::vector<Edge> inputs;
  std::vector<Output> outputs;
  std::vector<Saved> saved;
  BackwardFunction backward;
  std::unique_ptr<TraceRecord> trace;      // who recorded it, while a Trace scope was open
  std::unique_ptr<const Segment> segment;  // in the place of a gradient function, or null
  std::weak_ptr<OutputRecipe> recipe;      // of its output, where somebody saved that instead
};

/// Whether an operation on these inputs has to be recorded.
bool needs_record(TensorList inputs);

/// Tells observers that an operation ran on these inputs and was not recorded.
inline void observe_use(TensorList inputs) {
  observe([&](Observer& observer) { observer.on_use(inputs); });
}

/// Puts an operation on the tape: `outputs` were computed from `inputs`; `saved` (inputs, outputs or others) is kept
/// for the gradient function, and `attributes` for who looks at the tape. The outputs must be new tensors, not handles
/// of inputs. Tells the observers of it.
void record_node(const Op& op, TensorList inputs, TensorList outputs, TensorList saved, BackwardFunction backward,
                 AttributeList attributes = {});

template <class F>
Tensor record(const Op& op, TensorList inputs, Tensor output, TensorList saved, F&& backward,
              AttributeList attributes = {}) {
  if (needs_record(inputs))
    record_node(op, inputs, {output}, saved, BackwardFunction(std::forward<F>(backward)), attributes);
  else
    observe_use(inputs);
  return output;
}
template <class F>
Tensors record_many(const Op& op, TensorList inputs, Tensors outputs, TensorList saved, F&& backward,
                    AttributeList attributes = {}) {
  if (needs_record(inputs))
    record_node(op, inputs, outputs, saved, BackwardFunction(std::forward<F>(backward)), attributes);
  else
    observe_use(inputs);
  return outputs;
}

/// Gradients of a fused operation by its composed twin, recorded: for BackwardContext::create_graph(). `twin` computes
/// the operation's outputs from its inputs with public operations.
Tensors twin_gradients(const BackwardContext& context, const Tensors& inputs, size_t outputs,
                       const std::function<Tensors(const Tensors&)>& twin);

}  // namespace tape
