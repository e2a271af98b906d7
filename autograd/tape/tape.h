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

/// Tensors passed to a function as a list in braces, a vector or a span, which must
/// outlive it.
class TensorList {
 public:
  /// A view of the caller's tensors.
  /// @{
  TensorList(std::initializer_list<Tensor> tensors) : size_(tensors.size()) { begin_ = tensors.begin(); }
  TensorList(const Tensors& tensors) : begin_(tensors.data()), size_(tensors.size()) {}
  TensorList(std::span<const Tensor> tensors) : begin_(tensors.data()), size_(tensors.size()) {}
  /// @}
  /// Read access as to a std::span; operator[] is not checked.
  /// @{
  const Tensor* begin() const { return begin_; }
  const Tensor* end() const { return begin_ + size_; }
  size_t size() const { return size_; }
  const Tensor& operator[](size_t i) const { return begin_[i]; }
  /// @}

 private:
  const Tensor* begin_ = nullptr;
  size_t size_;
};

/// Argument of a node's gradient function, which runs in the node's matmul precision while this is in scope.
class BackwardContext {
 public:
  /// Returns what grad_sum() does for an input.
  using GradSum = std::function<Tensor(size_t)>;
  /// `last`: whether the saved values are freed after the gradient function has run.
  BackwardContext(const Node& node, const Tensors& gradients, const std::vector<bool>& needed, bool last,
                  const GradSum* sum = nullptr);

  /// Name of the node's operation.
  const char* name() const;
  /// Gradient of output i; zeros if it received none. Throws Error (graph) if there is no such output.
  Tensor grad(size_t i = 0) const;
  /// Whether output i exists and received a gradient.
  bool has_grad(size_t i) const { return i < gradients_.size() && gradients_[i].defined(); }
  /// Saved value i. Throws Error (graph) if it does not exist or was modified in place.
  Tensor saved(size_t i) const;
  /// A tensor of the shape and dtype of saved value i for a result: the saved value itself if nothing else will read
  /// it, else a new one.
  Tensor reuse_saved_or_empty(size_t i) const;
  /// Whether input i needs a gradient.
  bool needs(size_t i) const { return i < needed_.size() && needed_[i]; }
  /// What other operations have given the gradient of input i so far. An operation may add its own gradient to it in
  /// place and return it, which is faster than two gradients and their sum. Undefined if there is none, if something
  /// else may read it, or if the kernels have no use for it.
  Tensor grad_sum(size_t i) const { return sum_ && needs(i) ? (*sum_)(i) : Tensor(); }
  /// Whether the gradient will itself be differentiated, and so must be computed by tensor operations.
  bool create_graph() const { return grad_enabled(); }

 private:
  const Node& node_;
  const Tensors& gradients_;
  const std::vector<bool>& needed_;
  const bool last_;
  const GradSum* const sum_;
  const MatmulPrecisionScope as_recorded_;
  mutable std::map<size_t, Tensor> unpacked_;
};

/// Returns the gradients of the inputs in order; undefined means zero. A gradient may have a shape that the input
/// broadcasts to; the tape sums it back.
using BackwardFunction = std::function<Tensors(const BackwardContext&)>;

/// How to recompute an output; see Rematerialize.
class OutputRecipe;

/// A part of the tape that is not recorded but recomputed when the backward reaches it; see checkpoint().
class Segment {
 public:
  virtual ~Segment() = default;
  /// Recomputes the node's outputs, recorded, one per output.
  virtual Tensors rerun(const Node& node, const BackwardContext& context) const = 0;
};

/// A recorded operation, a segment, or a leaf. Nodes refer to the nodes of their inputs, so the tape is whatever is
/// reachable from live tensors.
class Node : public RefCounted {
 public:
  /// Where an input came from.
  struct Edge {
    Ref<Node> node;       ///< null if the input needs no gradient, or if a freed node dropped the reference
    uint32_t output = 0;  ///< index among that node's outputs
    /// If dropped: the range of sequence numbers of everything the node led to; else empty.
    /// @{
    uint64_t earliest = 1, latest = 0;
    /// @}
  };
  /// Called with an incoming gradient (`arriving`) or with a leaf's accumulated one (`gathered`).
  struct Hook {
    int64_t handle;                        ///< id for Tensor::remove_hook()
    GradientHook arriving = {};            ///< from Tensor::register_hook(), or empty
    PostAccumulateGradHook gathered = {};  ///< from Tensor::register_post_accumulate_grad_hook(), or empty
  };
  /// An output of the operation, or the tensor of a leaf.
  struct Output {
    Shape shape;                   ///< of the tensor and its gradient
    DType dtype;                   ///< the same
    Device device;                 ///< the same
    uint64_t version = 0;          ///< of the storage when the operation computed it
    bool retain = false;           ///< set by Tensor::retain_grad()
    Tensor grad = {};              ///< Tensor::grad(); undefined without one
    std::vector<Hook> hooks = {};  ///< in the order registered
  };
  /// A value that the gradient function reads.
  struct Saved {
    Tensor value;           ///< without history if it is an output of this node; undefined if packed
    int output = -1;        ///< index if it is an output of this node, else -1
    uint32_t replaced = 0;  ///< number of set_data() calls on the tensor before it was saved
    uint64_t version = 0;   ///< of the storage when it was saved
    std::unique_ptr<const PackedTensor> packed = nullptr;  ///< replaces the value; null if it is saved as it is
  };

  Node();  ///< takes the next sequence number and the current matmul precision

  const char* name() const;                       ///< of the operation, or "leaf"
  bool is_leaf() const { return op == nullptr; }  ///< whether it belongs to a leaf, not to an operation
  /// Frees everything that the gradient function needed. What the node leads to stays known, so that a gradient that
  /// would have to pass through it is an error and not silently dropped.
  void release_saved();

  const Op* op = nullptr;                  ///< the operation; null for a leaf
  Attributes attributes;                   ///< non-tensor arguments of the call; not freed by a backward
  const uint64_t sequence;                 ///< position in recording order, over all threads
  bool released = false;                   ///< whether release_saved() was called
  bool frozen = false;                     ///< a leaf whose tensor currently does not require gradients
  const MatmulPrecision precision;         ///< of the scope in which it was recorded; its gradients use it too
  Node* next_to_free = nullptr;            ///< used by dispose()
  std::vector<Edge> inputs;                ///< one per input of the call; empty for a leaf
  std::vector<Output> outputs;             ///< one per output; one for a leaf
  std::vector<Saved> saved;                ///< in the order of BackwardContext::saved()
  BackwardFunction backward;               ///< the gradient function; empty for leaves and released nodes
  std::unique_ptr<TraceRecord> trace;      ///< caller, if a Trace scope was open
  std::unique_ptr<const Segment> segment;  ///< replaces the gradient function, or null
  std::weak_ptr<OutputRecipe> recipe;      ///< of its output, if a node saved that instead
};

/// Whether an operation on these inputs must be recorded.
bool needs_record(TensorList inputs);

/// Notifies observers that an operation ran on these inputs without being recorded.
inline void observe_use(TensorList inputs) {
  observe([&](Observer& observer) { observer.on_use(inputs); });
}

/// Records an operation that computed `outputs` from `inputs`. `saved` (inputs, outputs or others) is stored for the
/// gradient function, `attributes` for inspecting the tape. The outputs must be new tensors, not handles of inputs.
/// Notifies observers.
void record_node(const Op& op, TensorList inputs, TensorList outputs, TensorList saved, BackwardFunction backward,
                 AttributeList attributes = {});

/// Returns `output` after recording it by record_node() if an input needs a gradient, or else only observe_use(). The
/// second form is for several outputs.
/// @{
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
/// @}

/// Gradients of a fused operation through its composed implementation, recorded; used when
/// BackwardContext::create_graph() is set. `unfused` computes the operation's outputs from its inputs with public
/// operations.
Tensors reference_gradients(const BackwardContext& context, const Tensors& inputs, size_t outputs,
                            const std::function<Tensors(const Tensors&)>& unfused);

}  // namespace tape
