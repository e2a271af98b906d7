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

/// Nodes refer to nodes: the last reference to the end of a chain would free the whole chain by recursion. So a node
/// that dies while another is being freed is put on a list instead.
///
/// The list runs through the nodes themselves: it needs no memory, and works after this thread's own objects were
/// destroyed, when those of the program's global variables are.
void dispose(Node* node) {
  thread_local Node* pending = nullptr;
  thread_local bool freeing = false;
  node->next_to_free = std::exchange(pending, node);
  if (freeing) return;
  freeing = true;
  while (pending) delete std::exchange(pending, pending->next_to_free);
  freeing = false;
}

Node::Node() : sequence(next_sequence()) {}

const char* Node::name() const { return op ? op->name() : "leaf"; }

void Node::release_saved() {
  saved.clear();
  // A gradient that is kept may have been made from this node (create_graph): where the node held it, by a leaf or by
  // an inner node that retains one, both would live for ever.
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
    node->outputs.push_back({output.shape(), output.dtype(), false, {}, {}, output.version()});
  node->saved.reserve(saved.size());
  for (const Tensor& value : saved) {
    if (!value.defined()) {
      node->saved.emplace_back();
      continue;
    }
    int made_here = -1;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (value.is(outputs[i])) made_here = static_cast<int>(i);
    // An output that held its own node alive would never be freed: it is kept without history, as it is packed.
    const TensorImpl& place = value.impl();
    std::unique_ptr<const PackedTensor> packed =
        made_here < 0 ? packed_by_hooks(value, place.node.get(), place.output)
                      : packed_by_hooks(value, node.get(), static_cast<uint32_t>(made_here));
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
  DeferRecordEvents::entered(node, inputs, outputs, attributes);
}

Tensor BackwardContext::grad(size_t i) const {
  if (i >= gradients_.size())
    raise(ErrorKind::graph, "backward of '{}': asked for the gradient of output {}, {} outputs have one", node_.name(),
          i, gradients_.size());
  if (gradients_[i].defined()) return gradients_[i];
  return zeros(node_.outputs[i].shape, node_.outputs[i].dtype);
}

Tensor BackwardContext::saved(size_t i) const {
  if (i >= node_.saved.size())
    raise(ErrorKind::graph, "backward of '{}': asked for saved value {}, {} were saved", node_.name(), i,
          node_.saved.size());
  const Node::Saved& entry = node_.saved[i];
  if (!entry.value.defined() && !entry.packed) return {};
  Tensor held = entry.value;
  if (entry.packed) {
    const auto known = unpacked_.find(i);
    held = known != unpacked_.end() ? known->second : unpacked_[i] = entry.packed->unpack(node_.name());
  } else if (entry.value.impl().replaced != entry.replaced)
    raise(ErrorKind::graph, "backward of '{}': a tensor {} that it saved was given other values by set_data() since",
          node_.name(), to_string(entry.value.shape()));
  else if (entry.value.version() != entry.version)
    raise(ErrorKind::graph,
          "backward of '{}': a value {} that it saved was changed in place since (version {}, saved at version {})",
          node_.name(), to_string(entry.value.shape()), entry.value.version(), entry.version);
  if (entry.output < 0 || !grad_enabled()) return held;
  Tensor value = held.detach();
  value.impl().node = Ref<Node>(const_cast<Node*>(&node_));
  value.impl().output = static_cast<uint32_t>(entry.output);
  return value;
}

Tensor BackwardContext::reuse_saved_or_empty(size_t i) const {
  if (node_.saved[i].packed) return node_.saved[i].packed->room();
  const Tensor& value = node_.saved[i].value;
  return last_ && !value.is_shared() ? value.detach() : empty_like(value);
}

Tensors twin_gradients(const BackwardContext& context, const Tensors& inputs, size_t outputs,
                       const std::function<Tensors(const Tensors&)>& twin) {
  // Aliases cut the twin off from the history of its inputs, so that the gradients are partial ones, while the second
  // derivative still flows through the aliases to where the inputs came from.
  Tensors aliased = inputs, wanted;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!context.needs(i)) continue;
    aliased[i] = alias(inputs[i]);
    wanted.push_back(aliased[i]);
  }
  Tensors values = twin(aliased), seeds, reached;
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
