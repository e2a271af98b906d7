#include "autograd/cuda/step_graph.h"

#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/captured_products.h"
#include "autograd/cuda/driver_calls.h"

namespace tape::cuda_device {
namespace {

KernelNode kernel_node(const WorkList::Work& work, void** arguments) {
  KernelNode node;
  node.function = work.function;
  node.grid_x = work.blocks.x;
  node.grid_y = work.blocks.y;
  node.grid_z = work.blocks.z;
  node.block_x = work.threads.x;
  node.block_y = work.threads.y;
  node.block_z = work.threads.z;
  node.shared_bytes = work.shared_bytes;
  node.arguments = arguments;
  return node;
}

CopyNode copy_node(const WorkList::Work& work) {
  CopyNode node;
  node.to.device = work.to;
  node.from.device = work.from;
  if (work.kind == WorkList::Kind::upload) {
    node.from.memory = memory_type::host;
    node.from.host = const_cast<void*>(work.host.address);
  }
  // The pitch of one row has no effect, but drivers refuse one of 2 GiB.
  node.bytes = work.bytes;
  return node;
}

FillNode fill_node(const WorkList::Work& work) {
  FillNode node;
  node.to = work.to;
  node.value = work.value;
  node.width = work.bytes;
  return node;
}

const char* kind_of(const WorkList::Work& work) {
  switch (work.kind) {
    case WorkList::Kind::kernel:
      return work.name;
    case WorkList::Kind::product:
      return "product";
    case WorkList::Kind::copy:
      return "copy on the device";
    case WorkList::Kind::upload:
      return "copy to the device";
    case WorkList::Kind::fill:
      break;
  }
  return "fill";
}

/// "softmax_f32 of softmax", or without the operation if none asked for it.
std::string text_of(const WorkList::Work& work) {
  return work.operation ? fmt::format("{} of {}", kind_of(work), work.operation) : kind_of(work);
}

}  // namespace

StepGraph::StepGraph(const Context& context, WorkList list, uint64_t hash)
    : context_(context), list_(std::move(list)), hash_(hash) {
  const Driver& d = *context_.driver;
  if (!accepted(d.graph_create(&graph_, 0), "graph")) return;
  for (const WorkList::Work& work : list_.works())
    if (!add_node(work)) return;
  if (!accepted(d.graph_instantiate(&executable_, graph_, 0), "instance of a graph")) executable_ = nullptr;
  // Otherwise the first launch would upload it.
  if (executable_) d.graph_upload(executable_, context_.stream);
}

StepGraph::~StepGraph() {
  if (executable_) context_.driver->graph_exec_destroy(executable_);
  if (graph_) context_.driver->graph_destroy(graph_);
}

/// Whether the driver has accepted a call; otherwise refusal() says why not.
bool StepGraph::accepted(Result result, const char* call) {
  if (result == result::success) return true;
  refusal_ = fmt::format("{}: {}", call, error_text(*context_.driver, result));
  return false;
}

bool StepGraph::add_node(const WorkList::Work& work) {
  const LaunchingOperation named(work.operation);
  void* node = nullptr;
  const Result added = add_to_graph(work, node);
  if (added != result::success) return accepted(added, ("node for " + text_of(work)).c_str());
  nodes_.push_back(node);
  return true;
}

Result StepGraph::add_to_graph(const WorkList::Work& work, void*& node) {
  const Driver& d = *context_.driver;
  void* const* const after = nodes_.empty() ? nullptr : &nodes_.back();
  const size_t count = nodes_.empty() ? 0 : 1;
  if (work.kind == WorkList::Kind::kernel) {
    list_.point_at_arguments(work, arguments_);
    const KernelNode kernel = kernel_node(work, arguments_.data());
    return d.graph_add_kernel(&node, graph_, after, count, &kernel);
  }
  if (work.kind == WorkList::Kind::product) {
    const CapturedProducts product(context_, context_.capture_stream, *work.plan, work.operands);
    return product.graph() ? d.graph_add_child(&node, graph_, after, count, product.graph()) : product.result();
  }
  if (work.kind == WorkList::Kind::fill) {
    const FillNode fill = fill_node(work);
    return d.graph_add_fill(&node, graph_, after, count, &fill, context_.handle);
  }
  const CopyNode copy = copy_node(work);
  return d.graph_add_copy(&node, graph_, after, count, &copy, context_.handle);
}

bool StepGraph::change_node(size_t index, const WorkList& list) {
  const WorkList::Work& work = list.works()[index];
  const LaunchingOperation named(work.operation);
  const Result changed = change_in_graph(work, list, nodes_[index]);
  return changed == result::success || accepted(changed, ("change of " + text_of(work)).c_str());
}

Result StepGraph::change_in_graph(const WorkList::Work& work, const WorkList& list, void* node) {
  const Driver& d = *context_.driver;
  if (work.kind == WorkList::Kind::kernel) {
    list.point_at_arguments(work, arguments_);
    const KernelNode kernel = kernel_node(work, arguments_.data());
    return d.graph_set_kernel(executable_, node, &kernel);
  }
  if (work.kind == WorkList::Kind::product) {
    const CapturedProducts product(context_, context_.capture_stream, *work.plan, work.operands);
    return product.graph() ? d.graph_set_child(executable_, node, product.graph()) : product.result();
  }
  if (work.kind == WorkList::Kind::fill) {
    const FillNode fill = fill_node(work);
    return d.graph_set_fill(executable_, node, &fill, context_.handle);
  }
  const CopyNode copy = copy_node(work);
  return d.graph_set_copy(executable_, node, &copy, context_.handle);
}

bool StepGraph::change(const WorkList& list, int64_t& changed) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (list.same_arguments(i, list_)) continue;
    if (!change_node(i, list)) return false;
    ++changed;
  }
  return true;
}

WorkList StepGraph::launch(WorkList list) {
  const Driver& d = *context_.driver;
  std::swap(list_, list);
  if (d.set_allocated_before)
    for (const WorkList::Allocation& allocation : list_.allocations())
      d.set_allocated_before(executable_, allocation.index < nodes_.size() ? nodes_[allocation.index] : nullptr,
                             allocation.address, allocation.bytes, allocation.capacity);
  check(d.graph_launch(executable_, context_.stream), "launch of a graph");
  return list;
}

}  // namespace tape::cuda_device
