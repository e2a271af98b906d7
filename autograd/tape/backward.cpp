#include "autograd/tape/backward.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/tape/eager_grad_accumulation.h"
#include "autograd/tape/graph.h"
#include "autograd/tape/operations.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

struct Pending {
  Ref<Node> node;  // keeps the node alive until it has run
  Tensors gradients;
  bool in_grad = false;  // of a leaf: the gradient is its grad, to which operations have added
};

/// One backward pass: visits the nodes that gradients reach in exact reverse recording order. Every consumer of a value
/// was recorded after it, so the gradient of a node is complete when its turn comes. Leaves are older than their
/// consumers and come last, or as early as possible under EagerGradAccumulation.
class BackwardPass {
 public:
  explicit BackwardPass(bool retain_graph, bool create_graph)
      : retain_graph_(retain_graph || create_graph), create_graph_(create_graph) {}

  /// Restricts the pass to nodes that lead to an input, and returns the inputs' gradients by position.
  void capture(const Tensors& outputs, const Tensors& inputs);
  void seed(const Tensor& output, const Tensor& gradient) { add(output.impl().node, output.impl().output, gradient); }
  void run();
  Tensors captured;

 private:
  /// `extends`: the gradient may be what sum_of() returned, in which case it is the sum already.
  void add(const Ref<Node>& node, uint32_t output, Tensor gradient, bool extends = false);
  /// Finds the operation after which the gradient of each leaf is complete. A segment's inputs include everything it
  /// used, and the nodes of its second run, the latest on the tape, all run before anything older than the segment.
  void find_last_users();
  void run_hooks(Node& node, Tensors& gradients);
  void accumulate_grad(Node& leaf, Tensor gradient, bool in_grad);
  /// Whether a gradient can be added to the sum in place: nothing else has a handle to it, except a leaf whose grad it
  /// is.
  bool is_extensible(const Pending& pending, const Tensor& sum) const {
    return !create_graph_ && (pending.in_grad || !sum.is_shared());
  }
  static bool same_tensor(const Tensor& a, const Tensor& b) { return a.defined() && &a.impl() == &b.impl(); }
  /// The gradient that has arrived at an edge, for an operation that adds its own to it; undefined if it must not.
  Tensor sum_of(const Node::Edge& edge) const;
  void replay(Node& node, const Tensors& gradients);
  /// Replaces a segment by the nodes of its second run. They are then the latest on the tape, so their gradients are
  /// summed in the same order as if the segment had been recorded.
  void expand(Node& node, Tensors& gradients);
  /// Collects the ancestors of the outputs that lead to needed nodes; nothing recorded before `earliest` does.
  void find_needed(const Tensors& outputs, uint64_t earliest);
  bool wanted(const Node* node) const { return !node->frozen && (!capturing_ || needed_.contains(node)); }
  /// Whether an input of the node is needed, or led to a needed node before a backward freed the node.
  bool leads_to_needed(const Node& node) const;

  const bool retain_graph_, create_graph_;
  bool capturing_ = false;
  std::unordered_set<const Node*> needed_;
  std::vector<uint64_t> places_;  // sequence numbers of the inputs to capture, sorted
  std::multimap<std::pair<const Node*, uint32_t>, size_t> captures_;
  std::unordered_map<Node*, Pending> pending_;
  std::unordered_map<const Node*, uint64_t>
      last_users_;  // per leaf, the sequence number of the earliest operation that uses it
  /// Priority of a node: its sequence number, latest first; an early leaf follows its last reader.
  struct Turn {
    uint64_t place;
    Node* node;
    bool operator<(const Turn& other) const {
      return std::tuple(place, !node->is_leaf(), node->sequence) <
             std::tuple(other.place, !other.node->is_leaf(), other.node->sequence);
    }
  };
  std::priority_queue<Turn> queue_;
};

void BackwardPass::capture(const Tensors& outputs, const Tensors& inputs) {
  capturing_ = true;
  captured.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorImpl& input = inputs[i].impl();
    captures_.emplace(std::pair(input.node.get(), input.output), i);
    needed_.insert(input.node.get());
    places_.push_back(input.node->sequence);
  }
  std::sort(places_.begin(), places_.end());
  find_needed(outputs, places_.empty() ? UINT64_MAX : places_.front());
}

bool BackwardPass::leads_to_needed(const Node& node) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const Node::Edge& edge) {
    if (edge.node) return wanted(edge.node.get());
    const auto place = std::lower_bound(places_.begin(), places_.end(), edge.earliest);
    return place != places_.end() && *place <= edge.latest;
  });
}

void BackwardPass::find_needed(const Tensors& outputs, uint64_t earliest) {
  for (const Node* node : nodes_behind(outputs, earliest))
    if (leads_to_needed(*node)) needed_.insert(node);
}

void BackwardPass::add(const Ref<Node>& node, uint32_t output, Tensor gradient, bool extends) {
  if (!wanted(node.get())) return;
  Pending& pending = pending_[node.get()];
  if (!pending.node) {
    pending.node = node;
    pending.gradients.resize(node->outputs.size());
    const auto reader = node->is_leaf() ? last_users_.find(node.get()) : last_users_.end();
    queue_.push({reader == last_users_.end() ? node->sequence : reader->second, node.get()});
  }
  Tensor& sum = pending.gradients[output];
  if (extends && same_tensor(sum, gradient)) return;
  if (!sum.defined()) {
    pending.in_grad = extends && same_tensor(node->outputs[output].grad, gradient);
    sum = std::move(gradient);
  } else if (is_extensible(pending, sum)) {
    sum.add_(gradient);
  } else {
    sum = tape::add(sum, gradient);
  }
}

void BackwardPass::find_last_users() {
  std::vector<const Node*> stack;
  std::unordered_set<const Node*> seen;
  for (const auto& [node, work] : pending_)
    if (seen.insert(node).second) stack.push_back(node);
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    for (const Node::Edge& edge : node->inputs) {
      if (!edge.node) continue;
      if (edge.node->is_leaf()) {
        uint64_t& place = last_users_.try_emplace(edge.node.get(), node->sequence).first->second;
        place = std::min(place, node->sequence);
      } else if (seen.insert(edge.node.get()).second) {
        stack.push_back(edge.node.get());
      }
    }
  }
}

void BackwardPass::run_hooks(Node& node, Tensors& gradients) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    // Copied, because a hook may remove itself.
    const auto hooks = node.outputs[i].hooks;
    for (const Node::Hook& hook : hooks) {
      const Tensor replaced = hook.arriving ? hook.arriving(gradients[i]) : Tensor();
      if (!replaced.defined()) continue;
      if (!(replaced.shape() == node.outputs[i].shape) || replaced.dtype() != node.outputs[i].dtype)
        raise(ErrorKind::shape, "hook: the gradient of '{}' is {} {}, the hook returned {} {}", node.name(),
              to_string(node.outputs[i].dtype), to_string(node.outputs[i].shape), to_string(replaced.dtype()),
              to_string(replaced.shape()));
      if (replaced.device() != node.outputs[i].device)
        raise(ErrorKind::device, "hook: the gradient of '{}' is on {}, the hook returned one on {}", node.name(),
              to_string(node.outputs[i].device), to_string(replaced.device()));
      gradients[i] = replaced;
    }
  }
}

Tensor BackwardPass::sum_of(const Node::Edge& edge) const {
  const Node& node = *edge.node;
  const Node::Output& output = node.outputs[edge.output];
  if (create_graph_ || !kernels::adds_to_gradients(kernels::Target{output.device})) return {};
  bool each_is_needed = false;
  observe([&](Observer& observer) { each_is_needed = each_is_needed || observer.needs_each_gradient(); });
  if (each_is_needed) return {};
  const auto pending = pending_.find(edge.node.get());
  if (pending != pending_.end() && pending->second.gradients[edge.output].defined()) {
    const Tensor& sum = pending->second.gradients[edge.output];
    return is_extensible(pending->second, sum) ? sum : Tensor();
  }
  // The first gradient of this pass for a leaf that has one of earlier passes; hooks would have to see this one alone.
  const bool is_first = node.is_leaf() && !capturing_ && output.hooks.empty();
  return is_first && output.grad.defined() && output.grad.device() == output.device ? output.grad : Tensor();
}

void BackwardPass::accumulate_grad(Node& leaf, Tensor gradient, bool in_grad) {
  Tensor& sum = leaf.outputs[0].grad;
  if (in_grad && same_tensor(sum, gradient)) {
    // Operations have added to it in place.
  } else if (!sum.defined()) {
    sum = create_graph_ || !gradient.is_shared() ? std::move(gradient) : gradient.clone();
  } else if (create_graph_) {
    sum = tape::add(sum, gradient);
  } else {
    sum.add_(gradient);
  }
  const auto hooks = leaf.outputs[0].hooks;
  for (const Node::Hook& hook : hooks)
    if (hook.gathered) hook.gathered(sum);
}

void BackwardPass::expand(Node& node, Tensors& gradients) {
  const std::vector<bool> needed(node.inputs.size(), true);
  const uint64_t now = Ref<Node>(new Node)->sequence;
  const Tensors outputs = node.segment->rerun(node, BackwardContext(node, gradients, needed, !retain_graph_));
  if (capturing_) find_needed(outputs, now);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (gradients[i].defined() && outputs[i].requires_grad())
      add(outputs[i].impl().node, outputs[i].impl().output, std::move(gradients[i]));
}

void BackwardPass::replay(Node& node, const Tensors& gradients) {
  std::vector<bool> needed(node.inputs.size());
  for (size_t i = 0; i < needed.size(); ++i) needed[i] = node.inputs[i].node && wanted(node.inputs[i].node.get());
  observe([&](Observer& observer) { observer.on_backward(node); });
  std::vector<bool> extended(needed.size());
  const BackwardContext::GradSum sums = [&](size_t i) {
    const Tensor sum = sum_of(node.inputs[i]);
    if (sum.defined()) extended[i] = true;
    return sum;
  };
  Tensors results = node.backward(BackwardContext(node, gradients, needed, !retain_graph_, &sums));
  observe([&](Observer& observer) { observer.on_backward_done(node, gradients, results); });
  if (results.size() != needed.size())
    raise(ErrorKind::graph, "backward of '{}': returned {} gradients for {} inputs", node.name(), results.size(),
          needed.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i] || !results[i].defined()) continue;
    const Node::Edge& edge = node.inputs[i];
    const Node::Output& target = edge.node->outputs[edge.output];
    if (results[i].dtype() != target.dtype || !broadcasts_to(target.shape, results[i].shape()))
      raise(ErrorKind::shape, "backward of '{}': the gradient of input {} is {} {}, the input is {} {}", node.name(), i,
            to_string(results[i].dtype()), to_string(results[i].shape()), to_string(target.dtype),
            to_string(target.shape));
    if (results[i].device() != target.device)
      raise(ErrorKind::device, "backward of '{}': the gradient of input {} is on {}, the input is on {}", node.name(),
            i, to_string(results[i].device()), to_string(target.device));
    if (!(results[i].shape() == target.shape)) results[i] = sum_to(results[i], target.shape);
    add(edge.node, edge.output, std::move(results[i]), extended[i]);
  }
}

void BackwardPass::run() {
  const EnableGrad recording(create_graph_);
  if (EagerGradAccumulation::active() && !capturing_) find_last_users();
  while (!queue_.empty()) {
    Node* const node = queue_.top().node;
    queue_.pop();
    Pending work = std::move(pending_.find(node)->second);
    pending_.erase(node);
    if (capturing_) needed_.erase(node);  // a later node may reuse its address
    run_hooks(*node, work.gradients);
    if (capturing_) {
      for (uint32_t i = 0; i < work.gradients.size(); ++i)
        for (auto [it, end] = captures_.equal_range({node, i}); it != end; ++it)
          captured[it->second] = work.gradients[i];
    }
    if (node->is_leaf()) {
      if (!capturing_) accumulate_grad(*node, std::move(work.gradients[0]), work.in_grad);
      continue;
    }
    for (size_t i = 0; i < work.gradients.size() && !capturing_; ++i)
      if (node->outputs[i].retain && work.gradients[i].defined()) {
        Tensor& kept = node->outputs[i].grad;
        const Tensor& added = work.gradients[i];
        kept = kept.defined() ? tape::add(kept, added) : create_graph_ ? added : added.clone();
      }
    if (capturing_ && !leads_to_needed(*node)) continue;
    try {
      if (node->released)
        raise(ErrorKind::graph,
              "backward: the saved values of '{}' were freed by an earlier backward; pass retain_graph to that "
              "one",
              node->name());
      if (node->segment)
        expand(*node, work.gradients);
      else if (leads_to_needed(*node))  // inputs may have been frozen since
        replay(*node, work.gradients);
    } catch (Error& error) {
      if (node->trace) error.set_module_path(node->trace->module_path);
      throw;
    }
    if (!retain_graph_) node->release_saved();
  }
}

Tensor seed_for(const char* operation, const Tensor& output, const Tensor& given) {
  if (!output.defined()) raise(ErrorKind::graph, "{}: the output is undefined", operation);
  if (!output.requires_grad())
    raise(ErrorKind::graph, "{}: the output {} has no graph: nothing it was computed from requires gradients",
          operation, to_string(output.shape()));
  if (!given.defined()) {
    if (output.numel() != 1)
      raise(ErrorKind::graph,
            "{}: the output is {}; only a single element can start without a seed: pass a gradient of that shape",
            operation, to_string(output.shape()));
    return ones(output.shape(), output.options());
  }
  if (!(given.shape() == output.shape()) || given.dtype() != output.dtype())
    raise(ErrorKind::shape, "{}: the seed is {} {}, the output is {} {}", operation, to_string(given.dtype()),
          to_string(given.shape()), to_string(output.dtype()), to_string(output.shape()));
  if (given.device() != output.device())
    raise(ErrorKind::device, "{}: the seed is on {}, the output is on {}", operation, to_string(given.device()),
          to_string(output.device()));
  return given;
}

Tensors seeds_for(const char* operation, const Tensors& outputs, const Tensors& given) {
  if (!given.empty() && given.size() != outputs.size())
    raise(ErrorKind::graph, "{}: {} seeds for {} outputs", operation, given.size(), outputs.size());
  Tensors seeds;
  for (size_t i = 0; i < outputs.size(); ++i)
    seeds.push_back(seed_for(operation, outputs[i], given.empty() ? Tensor() : given[i]));
  return seeds;
}

}  // namespace

void backward(const Tensors& outputs, const Tensors& gradients, const BackwardOptions& options) {
  const Tensors seeds = seeds_for("backward", outputs, gradients);
  BackwardPass pass(options.retain_graph, options.create_graph);
  for (size_t i = 0; i < outputs.size(); ++i) pass.seed(outputs[i], seeds[i]);
  pass.run();
}

Tensors grad(const Tensors& outputs, const Tensors& inputs, const GradOptions& options) {
  const Tensors seeds = seeds_for("grad", outputs, options.gradients);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].requires_grad()) raise(ErrorKind::graph, "grad: input {} does not require gradients", i);
  BackwardPass pass(options.retain_graph, options.create_graph);
  pass.capture(outputs, inputs);
  for (size_t i = 0; i < outputs.size(); ++i) pass.seed(outputs[i], seeds[i]);
  pass.run();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!pass.captured[i].defined() && !options.allow_unused)
      raise(ErrorKind::graph, "grad: the outputs do not depend on input {} {}; pass allow_unused to accept that", i,
            to_string(inputs[i].shape()));
  return pass.captured;
}

}  // namespace tape
