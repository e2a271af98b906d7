#include "autograd/cuda/graph.h"

#include <algorithm>
#include <utility>

#include "autograd/cuda/driver_calls.h"

namespace tape::cuda_device {
namespace {

/// The device should not wait for the end of a long list.
constexpr size_t kLongest = 256;
/// A graph costs more than this number of launches.
constexpr size_t kShortest = 4;
constexpr size_t kMostGraphs = 64;
constexpr size_t kMostHashes = 4096;

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
  node.bytes = node.to.pitch = node.from.pitch = work.bytes;
  return node;
}

FillNode fill_node(const WorkList::Work& work) {
  FillNode node;
  node.to = work.to;
  node.value = work.value;
  node.width = work.bytes;
  return node;
}

/// The operation that asked for a work, for messages.
const char* operation_of(const WorkList::Work& work) {
  return work.operation.empty() ? nullptr : work.operation.c_str();
}

}  // namespace

StepGraph::StepGraph(const Context& context, WorkList list, uint64_t hash)
    : context_(context), list_(std::move(list)), hash_(hash) {
  const Driver& d = *context_.driver;
  if (d.graph_create(&graph_, 0)) return;
  for (const WorkList::Work& work : list_.works())
    if (!add_node(work)) return;
  if (d.graph_instantiate(&executable_, graph_, 0)) executable_ = nullptr;
  // Otherwise the first launch would upload it.
  if (executable_) d.graph_upload(executable_, context_.stream);
}

StepGraph::~StepGraph() {
  if (executable_) context_.driver->graph_exec_destroy(executable_);
  if (graph_) context_.driver->graph_destroy(graph_);
}

bool StepGraph::add_node(const WorkList::Work& work) {
  const Driver& d = *context_.driver;
  const LaunchingOperation named(operation_of(work));
  void* const* const after = nodes_.empty() ? nullptr : &nodes_.back();
  const size_t count = nodes_.empty() ? 0 : 1;
  void* node = nullptr;
  Result added = result::success;
  if (work.kind == WorkList::Kind::kernel) {
    list_.point_at_arguments(work, arguments_);
    const KernelNode kernel = kernel_node(work, arguments_.data());
    added = d.graph_add_kernel(&node, graph_, after, count, &kernel);
  } else if (work.kind == WorkList::Kind::copy) {
    const CopyNode copy = copy_node(work);
    added = d.graph_add_copy(&node, graph_, after, count, &copy, context_.handle);
  } else {
    const FillNode fill = fill_node(work);
    added = d.graph_add_fill(&node, graph_, after, count, &fill, context_.handle);
  }
  nodes_.push_back(node);
  return added == result::success;
}

bool StepGraph::change_node(size_t index, const WorkList& list) {
  const Driver& d = *context_.driver;
  const WorkList::Work& work = list.works()[index];
  const LaunchingOperation named(operation_of(work));
  if (work.kind == WorkList::Kind::kernel) {
    list.point_at_arguments(work, arguments_);
    const KernelNode kernel = kernel_node(work, arguments_.data());
    return d.graph_set_kernel(executable_, nodes_[index], &kernel) == result::success;
  }
  if (work.kind == WorkList::Kind::copy) {
    const CopyNode copy = copy_node(work);
    return d.graph_set_copy(executable_, nodes_[index], &copy, context_.handle) == result::success;
  }
  const FillNode fill = fill_node(work);
  return d.graph_set_fill(executable_, nodes_[index], &fill, context_.handle) == result::success;
}

bool StepGraph::change(const WorkList& list, int64_t& changed) {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (list.same_arguments(i, list_)) continue;
    if (!change_node(i, list)) return false;
    ++changed;
  }
  list_ = list;
  return true;
}

void StepGraph::launch() const {
  const Driver& d = *context_.driver;
  if (d.set_allocated_before)
    for (const WorkList::Allocation& allocation : list_.allocations())
      d.set_allocated_before(executable_, allocation.index < nodes_.size() ? nodes_[allocation.index] : nullptr,
                             allocation.address, allocation.bytes, allocation.capacity);
  check(d.graph_launch(executable_, context_.stream), "launch of a graph");
}

void WorkCollector::add_kernel(const char* name, void* function, Grid blocks, Grid threads, uint32_t shared_bytes,
                               const void* const* arguments, const size_t* sizes, size_t count) {
  const std::lock_guard lock(mutex_);
  list_.add_kernel(name, function, blocks, threads, shared_bytes, arguments, sizes, count);
  flush_long();
}

void WorkCollector::add_copy(DevicePointer to, DevicePointer from, size_t bytes) {
  const std::lock_guard lock(mutex_);
  list_.add_copy(to, from, bytes);
  flush_long();
}

void WorkCollector::add_fill(DevicePointer to, uint8_t value, size_t bytes) {
  const std::lock_guard lock(mutex_);
  list_.add_fill(to, value, bytes);
  flush_long();
}

void WorkCollector::add_allocation(DevicePointer address, size_t bytes, size_t capacity) {
  const std::lock_guard lock(mutex_);
  list_.add_allocation(address, bytes, capacity);
}

void WorkCollector::flush() {
  const std::lock_guard lock(mutex_);
  if (list_.empty()) return;
  // What throws must not come again.
  const WorkList list = std::exchange(list_, {});
  launch_list(list);
}

void WorkCollector::flush_long() {
  if (list_.works().size() < kLongest) return;
  const WorkList list = std::exchange(list_, {});
  launch_list(list);
}

void WorkCollector::launch_list(const WorkList& list) {
  if (list.works().size() < kShortest) {
    statistics_.in_short_lists += static_cast<int64_t>(list.works().size());
    launch_plainly(list);
    return;
  }
  if (StepGraph* const graph = graph_for(list, list.hash_of_shape())) {
    launch_graph(*graph, list);
  } else {
    launch_plainly(list);
  }
}

/// The graph of an earlier list of this shape, or a new one if it comes for the second time, at the front; or null.
StepGraph* WorkCollector::graph_for(const WorkList& list, uint64_t hash) {
  const auto found =
      std::find_if(graphs_.begin(), graphs_.end(), [&](const StepGraph& graph) { return graph.fits(list, hash); });
  if (found != graphs_.end()) {
    graphs_.splice(graphs_.begin(), graphs_, found);
    return &graphs_.front();
  }
  if (hashes_.size() >= kMostHashes) hashes_.clear();
  if (hashes_.insert(hash).second) return nullptr;
  StepGraph& graph = graphs_.emplace_front(context_, list, hash);
  if (!graph.valid()) {
    graphs_.pop_front();
    return nullptr;
  }
  ++statistics_.graphs;
  if (graphs_.size() > kMostGraphs) graphs_.pop_back();
  return &graph;
}

/// Launches the graph at the front of the cache.
void WorkCollector::launch_graph(StepGraph& graph, const WorkList& list) {
  if (!graph.change(list, statistics_.changed)) {
    graphs_.pop_front();
    launch_plainly(list);
    return;
  }
  ++statistics_.graph_launches;
  statistics_.by_graph += static_cast<int64_t>(list.works().size());
  graph.launch();
}

void WorkCollector::launch_plainly(const WorkList& list) {
  const Driver& d = *context_.driver;
  auto allocation = list.allocations().begin();
  const auto inform_before = [&](size_t index) {
    for (; allocation != list.allocations().end() && allocation->index <= index; ++allocation)
      d.set_allocated(allocation->address, allocation->bytes, allocation->capacity);
  };
  std::vector<void*> arguments;
  for (size_t i = 0; i < list.works().size(); ++i) {
    const WorkList::Work& work = list.works()[i];
    const LaunchingOperation named(operation_of(work));
    inform_before(i);
    ++statistics_.plainly;
    if (work.kind == WorkList::Kind::copy) {
      copy_now(context_, work.to, work.from, work.bytes);
    } else if (work.kind == WorkList::Kind::fill) {
      fill_now(context_, work.to, work.value, work.bytes);
    } else {
      list.point_at_arguments(work, arguments);
      launch_now(context_, work.name.c_str(), work.function, work.blocks, work.threads, work.shared_bytes,
                 arguments.data());
    }
  }
  inform_before(list.works().size());
}

GraphStatistics WorkCollector::statistics() {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

GraphStatistics graph_statistics() {
  const Context& c = context();
  return c.collector ? c.collector->statistics() : GraphStatistics();
}

void flush_work(const Context& context) {
  if (context.collector) context.collector->flush();
}

}  // namespace tape::cuda_device
