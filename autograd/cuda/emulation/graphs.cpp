#include "autograd/cuda/emulation/graphs.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "autograd/cuda/emulation/copies.h"
#include "autograd/cuda/emulation/emulated_driver.h"
#include "autograd/cuda/emulation/launch.h"

namespace tape::cuda_device::emulation {
namespace {

/// What a node does.
struct NodeWork {
  enum class Kind : uint8_t { kernel, copy, fill };
  Kind kind;
  const void* function = nullptr;  // of a kernel
  size_t bytes = 0;                // of a copy or fill
  std::shared_ptr<const std::function<void()>> run;
};

struct Graph;

struct Node {
  const Graph* graph;
  size_t index;
  std::vector<size_t> after;  // nodes of its graph
  NodeWork work;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;
};

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

template <class Run>
std::shared_ptr<const std::function<void()>> shared_work(Run run) {
  return std::make_shared<const std::function<void()>>(std::move(run));
}

/// Whether `work` became that of a node; otherwise the parameters are not valid.
bool read(const KernelNode& node, NodeWork& work) {
  if (!node.function || node.extra) return false;
  StoredLaunch launch(*static_cast<const RegisteredKernel*>(node.function), {node.grid_x, node.grid_y, node.grid_z},
                      {node.block_x, node.block_y, node.block_z}, node.shared_bytes, node.arguments);
  if (!launch.is_valid()) return false;
  work = {NodeWork::Kind::kernel, node.function, 0, shared_work([launch = std::move(launch)] { launch.run(); })};
  return true;
}

bool is_linear(const CopyNode::End& end) {
  constexpr int kDevice = 2;
  return end.memory == kDevice && !end.x && !end.y && !end.z && !end.level && !end.reserved;
}

bool read(const CopyNode& node, NodeWork& work) {
  if (!is_linear(node.from) || !is_linear(node.to) || !node.bytes || node.height != 1 || node.depth != 1) return false;
  work = {
      NodeWork::Kind::copy, nullptr, node.bytes,
      shared_work([to = node.to.device, from = node.from.device, bytes = node.bytes] { run_copy(to, from, bytes); })};
  return true;
}

bool read(const FillNode& node, NodeWork& work) {
  if (node.element_size != 1 || !node.width || node.height != 1) return false;
  work = {NodeWork::Kind::fill, nullptr, node.width,
          shared_work([to = node.to, value = static_cast<unsigned char>(node.value), bytes = node.width] {
            run_fill(to, value, bytes);
          })};
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

template <class Parameters>
Result set_node(void* executable_handle, void* handle, const Parameters* parameters) {
  const auto lock = work_queue().lock();
  ExecutableGraph& executable = executable_of(executable_handle);
  const Node& node = *static_cast<const Node*>(handle);
  NodeWork work;
  if (node.graph != executable.graph || !read(*parameters, work)) return result::invalid_value;
  NodeWork& before = executable.works[node.index];
  const bool same_bytes = work.kind != NodeWork::Kind::fill || work.bytes == before.bytes;
  if (work.kind != before.kind || work.function != before.function || !same_bytes) return result::invalid_value;
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

/// Runs the nodes in one of the orders that respect the edges.
void run_nodes(const ExecutableGraph& graph, std::minstd_rand random) {
  const size_t count = graph.works.size();
  std::vector<size_t> missing(count);  // nodes before one that have not run
  std::vector<std::vector<size_t>> next(count);
  std::vector<size_t> ready;
  for (size_t i = 0; i < count; ++i) {
    missing[i] = graph.after[i].size();
    for (const size_t before : graph.after[i]) next[before].push_back(i);
    if (!missing[i]) ready.push_back(i);
  }
  PendingAllocations allocations(graph.allocations);
  while (!ready.empty()) {
    std::swap(ready[random() % ready.size()], ready.back());
    const size_t node = ready.back();
    ready.pop_back();
    allocations.apply_before(node);
    (*graph.works[node].run)();
    for (const size_t after : next[node])
      if (--missing[after] == 0) ready.push_back(after);
  }
}

Result launch_graph(void* handle, void*) {
  const auto lock = work_queue().lock();
  ExecutableGraph& executable = executable_of(handle);
  const auto kernels = std::count_if(executable.works.begin(), executable.works.end(),
                                     [](const NodeWork& work) { return work.kind == NodeWork::Kind::kernel; });
  driver_state().launches += kernels;
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
  d.graph_instantiate = instantiate;
  d.graph_set_kernel = set_node<KernelNode>;
  d.graph_set_copy = [](void* executable, void* node, const CopyNode* copy, void*) {
    return set_node(executable, node, copy);
  };
  d.graph_set_fill = [](void* executable, void* node, const FillNode* fill, void*) {
    return set_node(executable, node, fill);
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
