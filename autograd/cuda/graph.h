#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "context.h"
#include "work_list.h"

// Steps as graphs: with TAPE_CUDA_GRAPHS=1 work is collected, and given to the driver when something waits. A list that
// has the kernels and sizes of an earlier one is launched as a graph, in which only the arguments that differ are
// changed, since a kernel of a graph costs a device a fraction of a launch.

namespace tape::cuda_device {

/// How the kernels, copies and fills of a device were launched.
struct GraphStatistics {
  int64_t graphs = 0;          ///< graphs instantiated
  int64_t graph_launches = 0;  ///< launches of graphs
  int64_t by_graph = 0;        ///< kernels, copies and fills in them
  int64_t plainly = 0;         ///< those that were launched one by one
  int64_t in_short_lists = 0;  ///< of these: those in lists that are too short for a graph
  int64_t changed = 0;         ///< nodes of graphs whose arguments were changed before a launch
};
/// Statistics of this thread's current device, all zero if graphs are off.
GraphStatistics graph_statistics();

/// A list as an executable graph, each work after the one before.
class StepGraph : NonCopyable {
 public:
  /// Check valid(): a driver may refuse.
  StepGraph(const Context& context, WorkList list, uint64_t hash);
  ~StepGraph();

  bool valid() const { return executable_ != nullptr; }
  /// Whether it can be launched with the arguments of a list whose hash_of_shape() is `hash`.
  bool fits(const WorkList& list, uint64_t hash) const { return hash == hash_ && list_.same_shape(list); }
  /// Gives the nodes the arguments of a list of the same shape, and counts those that change. Returns false if the
  /// driver refuses.
  bool change(const WorkList& list, int64_t& changed);
  void launch() const;

 private:
  bool add_node(const WorkList::Work& work);
  bool change_node(size_t index, const WorkList& list);

  const Context& context_;
  WorkList list_;  // with the arguments of the nodes
  uint64_t hash_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
  std::vector<void*> nodes_, arguments_;
};

/// Collects the work of a device, from all threads in the order of their calls.
class WorkCollector : NonCopyable {
 public:
  explicit WorkCollector(const Context& context) : context_(context) {}

  void add_kernel(const char* name, void* function, Grid blocks, Grid threads, uint32_t shared_bytes,
                  const void* const* arguments, const size_t* sizes, size_t count);
  void add_copy(DevicePointer to, DevicePointer from, size_t bytes);
  void add_fill(DevicePointer to, uint8_t value, size_t bytes);
  void add_allocation(DevicePointer address, size_t bytes, size_t capacity);
  /// Gives what was collected to the driver.
  void flush();
  GraphStatistics statistics();

 private:
  void flush_long();
  void launch_list(const WorkList& list);
  void launch_plainly(const WorkList& list);
  StepGraph* graph_for(const WorkList& list, uint64_t hash);
  void launch_graph(StepGraph& graph, const WorkList& list);

  const Context& context_;
  std::mutex mutex_;
  WorkList list_;
  std::list<StepGraph> graphs_;          // the one launched last first
  std::unordered_set<uint64_t> hashes_;  // of lists that came once
  GraphStatistics statistics_;
};

/// Gives work that was collected to the driver. To be called before anything else uses the stream.
void flush_work(const Context& context);

}  // namespace tape::cuda_device
