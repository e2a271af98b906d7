#include "autograd/cuda/emulation/graphs.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "autograd/cuda/emulation/copies.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/graph_nodes.h"
#include "autograd/cuda/emulation/launch.h"
#include "autograd/cuda/emulation/pinned_memory.h"
#include "autograd/cuda/emulation/streams.h"

namespace tape::cuda_device::emulation {
namespace {

/// An allocation before a node, or after all of them.
struct AllocationAt {
  size_t index;
  char* address;
  size_t bytes, capacity;
};

struct ExecutableGraph {
  const Graph* graph;  // which must exist as long as nodes are changed
  std::vector<std::vector<size_t>> after;
  std::vector<NodeWork> works;
  std::vector<AllocationAt> allocations;  // of the next launch
};

Graph& graph_of(void* graph) { return *static_cast<Graph*>(graph); }
ExecutableGraph& executable_of(void* executable) { return *static_cast<ExecutableGraph*>(executable); }

/// Whether `work` became that of a node; otherwise the parameters are not valid.
bool read(const KernelNode& node, NodeWork& work) {
  if (!node.function || node.extra) return false;
  StoredLaunch launch(*static_cast<const RegisteredKernel*>(node.function), {node.grid_x, node.grid_y, node.grid_z},
                      {node.block_x, node.block_y, node.block_z}, node.shared_bytes, node.arguments);
  if (!launch.is_valid()) return false;
  work = {NodeWork::Kind::kernel, reinterpret_cast<uintptr_t>(node.function), 0,
          shared_work([launch = std::move(launch)] { launch.run(); })};
  return true;
}

bool is_linear(const CopyNode::End& end) { return !end.x && !end.y && !end.z && !end.level && !end.reserved; }

bool read(const CopyNode& node, NodeWork& work) {
  if (!is_linear(node.from) || !is_linear(node.to) || !node.bytes || node.height != 1 || node.depth != 1) return false;
  if (node.to.memory != memory_type::device) return false;
  if (node.from.memory == memory_type::host) {
    // Pageable memory could be gone when the graph runs.
    const uint64_t block = pinned_memory().block_of(node.from.host, node.bytes);
    work = {NodeWork::Kind::copy, memory_type::host, node.bytes,
            shared_work([to = node.to.device, from = node.from.host, bytes = node.bytes, block] {
              run_upload(to, from, bytes, block);
            })};
    return block != 0;
  }
  if (node.from.memory != memory_type::device) return false;
  work = {
      NodeWork::Kind::copy, memory_type::device, node.bytes,
      shared_work([to = node.to.device, from = node.from.device, bytes = node.bytes] { run_copy(to, from, bytes); })};
  return true;
}

bool read(const FillNode& node, NodeWork& work) {
  if (node.element_size != 1 || !node.width || node.height != 1) return false;
  work = {NodeWork::Kind::fill, 0, node.width,
          shared_work([to = node.to, value = static_cast<unsigned char>(node.value), bytes = node.width] {
            run_fill(to, value, bytes);
          })};
  return true;
}

/// A copy of a captured graph, as a node keeps one.
bool read(const Graph& given, NodeWork& work) {
  auto child = std::make_shared<Graph>();
  for (const auto& node : given.nodes) child->nodes.push_back(std::make_unique<Node>(*node));
  for (const auto& node : child->nodes) node->graph = child.get();
  work = {.kind = NodeWork::Kind::child, .child = std::move(child)};
  return true;
}

template <class Parameters>
Result add_node(void** handle, void* graph_handle, void* const* after, size_t count, const Parameters* parameters) {
  const auto lock = work_queue().lock();
  Graph& graph = graph_of(graph_handle);
  auto node = std::make_unique<Node>();
  node->graph = &graph;
  node->index = graph.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    const Node& before = *static_cast<const Node*>(after[i]);
    if (before.graph != &graph) return result::invalid_value;
    node->after.push_back(before.index);
  }
  if (!read(*parameters, node->work)) return result::invalid_value;
  *handle = graph.nodes.emplace_back(std::move(node)).get();
  return result::success;
}

bool is_change_of(const NodeWork& work, const NodeWork& before);

/// Whether two graphs have the same nodes, in their order, and edges.
bool is_change_of(const Graph& graph, const Graph& before) {
  return std::ranges::equal(graph.nodes, before.nodes, [](const auto& a, const auto& b) {
    return a->after == b->after && is_change_of(a->work, b->work);
  });
}

/// Whether a node of an executable graph can be given other work.
bool is_change_of(const NodeWork& work, const NodeWork& before) {
  if (work.kind != before.kind || work.identity != before.identity) return false;
  if (work.kind == NodeWork::Kind::child) return is_change_of(*work.child, *before.child);
  return work.kind != NodeWork::Kind::fill || work.bytes == before.bytes;
}

template <class Parameters>
Result set_node(void* executable_handle, void* handle, const Parameters* parameters) {
  const auto lock = work_queue().lock();
  ExecutableGraph& executable = executable_of(executable_handle);
  const Node& node = *static_cast<const Node*>(handle);
  NodeWork work;
  if (node.graph != executable.graph || !read(*parameters, work)) return result::invalid_value;
  NodeWork& before = executable.works[node.index];
  if (!is_change_of(work, before)) return result::invalid_value;
  before = std::move(work);
  return result::success;
}

Result instantiate(void** handle, void* graph_handle, unsigned long long) {
  const Graph& graph = graph_of(graph_handle);
  auto executable = std::make_unique<ExecutableGraph>();
  executable->graph = &graph;
  for (const auto& node : graph.nodes) {
    executable->after.push_back(node->after);
    executable->works.push_back(node->work);
  }
  *handle = executable.release();
  return result::success;
}

/// The allocations of a launch, each to be applied before its node.
class PendingAllocations : NonCopyable {
 public:
  explicit PendingAllocations(const std::vector<AllocationAt>& all) : all_(all), applied_(all.size()) {}
  /// Those that a fault has kept from their turn are applied too, as everything later counts on them.
  ~PendingAllocations() {
    for (size_t i = 0; i < all_.size(); ++i) apply(i);
  }

  void apply_before(size_t node) {
    for (size_t i = 0; i < all_.size(); ++i)
      if (all_[i].index == node) apply(i);
  }

 private:
  void apply(size_t i) {
    if (applied_[i]) return;
    applied_[i] = true;
    device_memory()->set_allocated(all_[i].address, all_[i].bytes, all_[i].capacity);
  }

  const std::vector<AllocationAt>& all_;
  std::vector<bool> applied_;
};

using Edges = std::vector<std::vector<size_t>>;

/// Calls run(node) for all nodes, in one of the orders that respect the edges.
template <class Run>
void for_nodes(const Edges& after, std::minstd_rand& random, const Run& run) {
  const size_t count = after.size();
  std::vector<size_t> missing(count);  // nodes before one that have not run
  Edges next(count);
  std::vector<size_t> ready;
  for (size_t i = 0; i < count; ++i) {
    missing[i] = after[i].size();
    for (const size_t before : after[i]) next[before].push_back(i);
    if (!missing[i]) ready.push_back(i);
  }
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const size_t node = ready.back();
    ready.pop_back();
    run(node);
    for (const size_t following : next[node])
      if (--missing[following] == 0) ready.push_back(following);
  }
}

void run_work(const NodeWork& work, std::minstd_rand& random) {
  if (work.kind != NodeWork::Kind::child) return (*work.run)();
  Edges after;
  for (const auto& node : work.child->nodes) after.push_back(node->after);
  for_nodes(after, random, [&](size_t node) { run_work(work.child->nodes[node]->work, random); });
}

void run_nodes(const ExecutableGraph& graph, std::minstd_rand random) {
  PendingAllocations allocations(graph.allocations);
  for_nodes(graph.after, random, [&](size_t node) {
    allocations.apply_before(node);
    run_work(graph.works[node], random);
  });
}

void count_launch(const NodeWork& work) {
  if (work.kind == NodeWork::Kind::kernel) ++driver_state().launches;
  if (work.kind == NodeWork::Kind::product) ++driver_state().products;
  if (work.kind == NodeWork::Kind::child)
    for (const auto& node : work.child->nodes) count_launch(node->work);
}

Result launch_graph(void* handle, void* stream) {
  const auto lock = work_queue().lock();
  if (const Result refused = refuse_captured(stream)) return refused;
  ExecutableGraph& executable = executable_of(handle);
  for (const NodeWork& work : executable.works) count_launch(work);
  // Later changes of the graph do not concern this launch.
  const std::minstd_rand random(static_cast<unsigned>(++driver_state().graph_launches));
  work_queue().submit([snapshot = executable, random] { run_nodes(snapshot, random); });
  executable.allocations.clear();
  return result::success;
}

void set_allocated_before(void* handle, void* node, DevicePointer address, size_t bytes, size_t capacity) {
  const auto lock = work_queue().lock();
  ExecutableGraph& executable = executable_of(handle);
  char* const first = reinterpret_cast<char*>(address);
  work_queue().request_allocation(first, bytes);
  const size_t index = node ? static_cast<const Node*>(node)->index : executable.works.size();
  executable.allocations.push_back({index, first, bytes, capacity});
}

}  // namespace

void add_graph_functions(Driver& d) {
  d.graph_create = [](void** graph, unsigned) { return *graph = new Graph, result::success; };
  d.graph_add_kernel = add_node<KernelNode>;
  d.graph_add_copy = [](void** node, void* graph, void* const* after, size_t count, const CopyNode* copy, void*) {
    return add_node(node, graph, after, count, copy);
  };
  d.graph_add_fill = [](void** node, void* graph, void* const* after, size_t count, const FillNode* fill, void*) {
    return add_node(node, graph, after, count, fill);
  };
  d.graph_add_child = [](void** node, void* graph, void* const* after, size_t count, void* child) {
    return add_node(node, graph, after, count, &graph_of(child));
  };
  d.graph_instantiate = instantiate;
  d.graph_set_kernel = set_node<KernelNode>;
  d.graph_set_copy = [](void* executable, void* node, const CopyNode* copy, void*) {
    return set_node(executable, node, copy);
  };
  d.graph_set_fill = [](void* executable, void* node, const FillNode* fill, void*) {
    return set_node(executable, node, fill);
  };
  d.graph_set_child = [](void* executable, void* node, void* child) {
    return set_node(executable, node, &graph_of(child));
  };
  d.graph_upload = [](void*, void*) { return result::success; };
  d.graph_launch = launch_graph;
  d.graph_destroy = [](void* graph) { return delete static_cast<Graph*>(graph), result::success; };
  d.graph_exec_destroy = [](void* executable) {
    return delete static_cast<ExecutableGraph*>(executable), result::success;
  };
  d.set_allocated_before = set_allocated_before;
}

}  // namespace tape::cuda_device::emulation
