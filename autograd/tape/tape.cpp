#include "autograd/tape/tape.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "autograd/create.h"
#include "autograd/tape/defer_record_events.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/op.h"
#include "autograd/tape/operations.h"

namespace tape {
namespace {

uint64_t next_sequence() {
  static std::atomic<uint64_t> counter{0};
  return counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

/// Frees chains of nodes without recursion: a node whose last reference goes while another is being freed is put on a
/// list instead.
///
/// The list is linked through the nodes, so it needs no memory and also works when global variables are destroyed,
/// after thread-local objects.
void dispose(Node* node) {
  thread_local Node* pending = nullptr;
  thread_local bool freeing = false;
  node->next_to_free = std::exchange(pending, node);
  if (freeing) return;
  freeing = true;
  while (pending) delete std::exchange(pending, pending->next_to_free);
  freeing = false;
}

Node::Node() : sequence(next_sequence()), precision(MatmulPrecisionScope::current()) {}

const char* Node::name() const { return op ? op->name() : "leaf"; }

void Node::release_saved() {
  saved.clear();
  // With create_graph, a stored gradient may depend on this node. If the node kept a reference to the leaf, or the
  // inner node, that stores it, the two would form a reference cycle.
  for (Edge& edge : inputs) {
    if (!edge.node) continue;
    const bool leaf = edge.node->is_leaf();
    const bool retains = std::any_of(edge.node->outputs.begin(), edge.node->outputs.end(),
                                     [](const Output& output) { return output.retain; });
    if (leaf || retains) edge = {nullptr, 0, leaf ? edge.node->sequence : 0, edge.node->sequence};
  }
  backward = nullptr;
  segment = nullptr;
  released = true;
}

bool needs_record(TensorList inputs) {
  if (!grad_enabled()) return false;
  for (const Tensor& input : inputs)
    if (input.requires_grad()) return true;
  return false;
}

void record_node(const Op& op, TensorList inputs, TensorList outputs, TensorList saved, BackwardFunction backward,
                 AttributeList attributes) {
  DeferRecordEvents::recording();
  Ref<Node> node(new Node);
  node->op = &op;
  node->attributes = Attributes(attributes);
  node->backward = std::move(backward);
  node->inputs.reserve(inputs.size());
  for (const Tensor& input : inputs)
    node->inputs.push_back(input.requires_grad() ? Node::Edge{input.impl().node, input.impl().output} : Node::Edge{});
  node->outputs.reserve(outputs.size());
  for (const Tensor& output : outputs)
    node->outputs.push_back({output.shape(), output.dtype(), output.device(), output.version()});
  node->saved.reserve(saved.size());
  for (const Tensor& value : saved) {
    if (!value.defined()) {
      node->saved.emplace_back();
      continue;
    }
    int made_here = -1;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (value.is(outputs[i])) made_here = static_cast<int>(i);
    // An output must not keep its own node alive, so it is saved without history, as packed values are.
    const TensorImpl& place = value.impl();
    std::unique_ptr<const PackedTensor> packed = made_here < 0
                                                     ? pack_saved(value, place.node.get(), place.output)
                                                     : pack_saved(value, node.get(), static_cast<uint32_t>(made_here));
    if (!packed && made_here < 0 && detail::modes.rematerialize) packed = detail::modes.rematerialize(value);
    if (packed)
      node->saved.push_back({{}, made_here, 0, 0, std::move(packed)});
    else
      node->saved.push_back(
          {made_here < 0 ? value : value.detach(), made_here, made_here < 0 ? place.replaced : 0, value.version()});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    TensorImpl& output = outputs[i].impl();
    TAPE_ASSERT(!output.node);
    output.node = node;
    output.output = static_cast<uint32_t>(i);
  }
  DeferRecordEvents::recorded(node, inputs, outputs, attributes);
}

BackwardContext::BackwardContext(const Node& node, const Tensors& gradients, const std::vector<bool>& needed, bool last,
                                 const GradSum* sum)
    : node_(node), gradients_(gradients), needed_(needed), last_(last), sum_(sum), as_recorded_(node.precision) {}

const char* BackwardContext::name() const { return node_.name(); }

Tensor BackwardContext::grad(size_t i) const {
  if (i >= gradients_.size())
    raise(ErrorKind::graph, "backward of '{}': requested the gradient of output {}, but {} outputs have one",
          node_.name(), i, gradients_.size());
  if (gradients_[i].defined()) return gradients_[i];
  return zeros(node_.outputs[i].shape, {node_.outputs[i].dtype, node_.outputs[i].device});
}

Tensor BackwardContext::saved(size_t i) const {
  if (i >= node_.saved.size())
    raise(ErrorKind::graph, "backward of '{}': requested saved value {}, but {} were saved", node_.name(), i,
          node_.saved.size());
  const Node::Saved& entry = node_.saved[i];
  if (!entry.value.defined() && !entry.packed) return {};
  Tensor held = entry.value;
  if (entry.packed) {
    const auto known = unpacked_.find(i);
    held = known != unpacked_.end() ? known->second : unpacked_[i] = entry.packed->unpack(node_.name());
  } else if (entry.value.impl().replaced != entry.replaced)
    raise(ErrorKind::graph, "backward of '{}': a saved tensor {} was given other values by set_data()", node_.name(),
          to_string(entry.value.shape()));
  else if (entry.value.version() != entry.version)
    raise(ErrorKind::graph,
          "backward of '{}': a saved value {} was modified in place (version {}, saved at version {})", node_.name(),
          to_string(entry.value.shape()), entry.value.version(), entry.version);
  if (entry.output < 0 || !grad_enabled()) return held;
  Tensor value = held.detach();
  value.impl().node = Ref<Node>(const_cast<Node*>(&node_));
  value.impl().output = static_cast<uint32_t>(entry.output);
  return value;
}

Tensor BackwardContext::reuse_saved_or_empty(size_t i) const {
  if (node_.saved[i].packed) return node_.saved[i].packed->empty_like_packed();
  const Tensor& value = node_.saved[i].value;
  return last_ && !value.is_shared() ? value.detach() : empty_like(value);
}

Tensors reference_gradients(const BackwardContext& context, const Tensors& inputs, size_t outputs,
                            const std::function<Tensors(const Tensors&)>& unfused) {
  // The aliases cut the composed operation off from the history of its inputs, so that these gradients are partial
  // ones, while second derivatives still flow through the aliases to the original inputs.
  Tensors aliased = inputs, wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!context.needs(i)) continue;
    aliased[i] = alias(inputs[i]);
    wanted.push_back(aliased[i]);
  }
  Tensors values = unfused(aliased), seeds, reached;
  for (size_t i = 0; i < outputs; ++i) {
    if (!context.has_grad(i)) continue;
    seeds.push_back(context.grad(i));
    reached.push_back(values[i]);
  }
  const Tensors partial = tape::grad(reached, wanted, {.gradients = seeds, .create_graph = true, .allow_unused = true});
  Tensors result(inputs.size());
  for (size_t i = 0, next = 0; i < inputs.size(); ++i)
    if (context.needs(i)) result[i] = partial[next++];
  return result;
}

}  // namespace tape
