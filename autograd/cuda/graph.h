#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "context.h"
#include "step_graph.h"
#include "work_list.h"

// Steps as graphs: with TAPE_CUDA_GRAPHS=1 work is collected, and given to the driver when something waits. A list that
// has the kernels and sizes of an earlier one is launched as a graph, in which only the arguments that differ are
// changed, since a kernel of a graph costs a device a fraction of a launch.

namespace tape::cuda_device {

/// Why a list of work is given to the driver.
enum class ListEnd : uint8_t {
  wait,            ///< the host waits for the device
  copy_to_host,    ///< a value is read
  copy_to_device,  ///< many values of the host are copied, or some after many works
  event,           ///< an event is recorded
  length,          ///< the list is as long as a list may be
  other,           ///< memory is returned, or cuBLASLt is exchanged
};
inline constexpr size_t kListEnds = 6;

/// How the kernels, products, copies and fills of a device were launched.
struct GraphStatistics {
  int64_t graphs = 0;          ///< graphs instantiated
  int64_t graph_launches = 0;  ///< launches of graphs
  int64_t by_graph = 0;        ///< kernels, products, copies and fills in them
  int64_t plainly = 0;         ///< those that were launched one by one
  int64_t in_short_lists = 0;  ///< of these: those in lists that are too short for a graph
  int64_t seen_once = 0;       ///< of these: those in lists whose kernels and sizes came for the first time
  int64_t refused = 0;         ///< of these: those in lists for which the driver refused a graph or its change
  int64_t changed = 0;         ///< nodes of graphs whose arguments were changed before a launch
  std::string refusal;         ///< which call the driver refused last and why, or ""
  std::array<int64_t, kListEnds> lists = {};  ///< lists by their ListEnd

  int64_t ended_by(ListEnd end) const { return lists[static_cast<size_t>(end)]; }
};
/// Statistics of this thread's current device, all zero if graphs are off.
GraphStatistics graph_statistics();
/// "5 by copies to the device, 1 by length", or "" without lists.
std::string list_ends_text(const GraphStatistics& statistics);

/// Collects the work of a device, from all threads in the order of their calls.
class WorkCollector : NonCopyable {
 public:
  explicit WorkCollector(const Context& context) : context_(context) {}

  void add_kernel(const char* name, void* function, Grid blocks, Grid threads, uint32_t shared_bytes,
                  const void* const* arguments, const size_t* sizes, size_t count);
  void add_product(std::shared_ptr<BlasPlan> plan, const BlasOperands& operands);
  void add_copy(DevicePointer to, DevicePointer from, size_t bytes);
  /// A copy from pinned memory, which must not change until it has run; see PinnedPool::expect_copy().
  void add_upload(DevicePointer to, const PinnedSource& from, size_t bytes);
  void add_fill(DevicePointer to, uint8_t value, size_t bytes);
  void add_allocation(DevicePointer address, size_t bytes, size_t capacity);
  /// Gives what was collected to the driver.
  void flush(ListEnd end);
  GraphStatistics statistics();

 private:
  void flush_long();
  void launch_list(WorkList list, ListEnd end);
  void launch_best(WorkList list);
  void launch_plainly(const WorkList& list, int64_t& count);
  void launch_work(const WorkList& list, const WorkList::Work& work);
  StepGraph* graph_for(const WorkList& list, uint64_t hash, int64_t*& not_by_graph);
  void launch_graph(StepGraph& graph, WorkList list);
  void drop_refused();

  const Context& context_;
  std::mutex mutex_;
  WorkList list_;
  std::list<StepGraph> graphs_;                     // the one launched last first
  std::unordered_set<uint64_t> hashes_;             // of lists that came once
  std::unordered_map<uint64_t, int64_t> refusals_;  // of graphs or their changes, by the hash of the list
  GraphStatistics statistics_;
};

/// Gives work that was collected to the driver. To be called before anything else uses the stream.
void flush_work(const Context& context, ListEnd end);

}  // namespace tape::cuda_device
