#include "autograd/cuda/graph.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "autograd/cuda/blas_context.h"
#include "autograd/cuda/driver_calls.h"
#include "autograd/cuda/pinned_pool.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

/// Most steps of small models are one or two lists. A device with nothing to do should not wait for the end of a longer
/// one.
constexpr size_t kLongest = 512;
/// Most steps of training begin with a batch that is copied to the device, so a list with more works than this ends
/// there and the next one begins, even if the program reads no values.
constexpr size_t kLongBeforeUpload = 64;
/// A graph costs more than this number of launches.
constexpr size_t kShortest = 4;
constexpr size_t kMostGraphs = 64;
constexpr size_t kMostHashes = 4096;
/// A graph that is made again for every other launch, because the driver refuses its changes, costs more than launches.
constexpr int64_t kMostRefusals = 3;

}  // namespace

void WorkCollector::add_kernel(const char* name, void* function, Grid blocks, Grid threads, uint32_t shared_bytes,
                               const void* const* arguments, const size_t* sizes, size_t count) {
  const std::lock_guard lock(mutex_);
  list_.add_kernel(name, function, blocks, threads, shared_bytes, arguments, sizes, count);
  flush_long();
}

void WorkCollector::add_product(std::shared_ptr<BlasPlan> plan, const BlasOperands& operands) {
  const std::lock_guard lock(mutex_);
  list_.add_product(std::move(plan), operands);
  flush_long();
}

void WorkCollector::add_copy(DevicePointer to, DevicePointer from, size_t bytes) {
  const std::lock_guard lock(mutex_);
  list_.add_copy(to, from, bytes);
  flush_long();
}

void WorkCollector::add_upload(DevicePointer to, const PinnedSource& from, size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (list_.works().size() >= kLongBeforeUpload) launch_list(std::exchange(list_, {}), ListEnd::copy_to_device);
  list_.add_upload(to, from, bytes);
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

void WorkCollector::flush(ListEnd end) {
  const std::lock_guard lock(mutex_);
  // What throws must not come again.
  if (!list_.empty()) launch_list(std::exchange(list_, {}), end);
}

void WorkCollector::flush_long() {
  if (list_.works().size() >= kLongest) launch_list(std::exchange(list_, {}), ListEnd::length);
}

void WorkCollector::launch_list(WorkList list, ListEnd end) {
  if (!list.works().empty()) ++statistics_.lists[static_cast<size_t>(end)];
  const std::vector<const void*> uploads = list.take_uploads();
  try {
    launch_best(std::move(list));
  } catch (...) {
    // Some of the copies may have begun.
    for (const void* const pinned : uploads) pinned_pool().record_or_drop_expected(pinned);
    throw;
  }
  for (const void* const pinned : uploads) pinned_pool().record_expected(pinned);
}

void WorkCollector::launch_best(WorkList list) {
  if (list.works().size() < kShortest) {
    launch_plainly(list, statistics_.in_short_lists);
    return;
  }
  int64_t* not_by_graph = nullptr;
  StepGraph* const graph = graph_for(list, list.hash_of_shape(), not_by_graph);
  if (!graph) {
    launch_plainly(list, *not_by_graph);
  } else if (!graph->change(list, statistics_.changed)) {
    drop_refused();
    launch_plainly(list, statistics_.refused);
  } else {
    launch_graph(*graph, std::move(list));
  }
}

/// The graph of an earlier list of this shape, or a new one if it comes for the second time, at the front. Null if the
/// list is to be launched plainly, and where to count it.
StepGraph* WorkCollector::graph_for(const WorkList& list, uint64_t hash, int64_t*& not_by_graph) {
  const auto found =
      std::find_if(graphs_.begin(), graphs_.end(), [&](const StepGraph& graph) { return graph.fits(list, hash); });
  if (found != graphs_.end()) {
    graphs_.splice(graphs_.begin(), graphs_, found);
    return &graphs_.front();
  }
  not_by_graph = &statistics_.seen_once;
  if (hashes_.size() >= kMostHashes) hashes_.clear();
  if (hashes_.insert(hash).second) return nullptr;
  not_by_graph = &statistics_.refused;
  if (const auto refusals = refusals_.find(hash); refusals != refusals_.end() && refusals->second >= kMostRefusals)
    return nullptr;
  StepGraph& graph = graphs_.emplace_front(context_, list, hash);
  if (!graph.valid()) {
    drop_refused();
    return nullptr;
  }
  ++statistics_.graphs;
  if (graphs_.size() > kMostGraphs) graphs_.pop_back();
  return &graph;
}

/// Removes the graph at the front, which the driver has refused or whose change it has.
void WorkCollector::drop_refused() {
  if (refusals_.size() >= kMostHashes) refusals_.clear();
  ++refusals_[graphs_.front().hash()];
  statistics_.refusal = graphs_.front().refusal();
  graphs_.pop_front();
}

void WorkCollector::launch_graph(StepGraph& graph, WorkList list) {
  ++statistics_.graph_launches;
  statistics_.by_graph += static_cast<int64_t>(list.works().size());
  // Its memory serves the next list.
  list_ = graph.launch(std::move(list));
  list_.clear();
}

void WorkCollector::launch_plainly(const WorkList& list, int64_t& count) {
  const Driver& d = *context_.driver;
  auto allocation = list.allocations().begin();
  const auto inform_before = [&](size_t index) {
    for (; allocation != list.allocations().end() && allocation->index <= index; ++allocation)
      d.set_allocated(allocation->address, allocation->bytes, allocation->capacity);
  };
  for (size_t i = 0; i < list.works().size(); ++i) {
    inform_before(i);
    ++statistics_.plainly;
    ++count;
    launch_work(list, list.works()[i]);
  }
  inform_before(list.works().size());
}

void WorkCollector::launch_work(const WorkList& list, const WorkList::Work& work) {
  const LaunchingOperation named(work.operation);
  if (work.kind == WorkList::Kind::copy) {
    copy_now(context_, work.to, work.from, work.bytes);
  } else if (work.kind == WorkList::Kind::upload) {
    check(context_.driver->memcpy_to_device(work.to, work.host.address, work.bytes, context_.stream),
          "copy to the device");
  } else if (work.kind == WorkList::Kind::fill) {
    fill_now(context_, work.to, work.value, work.bytes);
  } else if (work.kind == WorkList::Kind::product) {
    if (!context_.blas->run(*work.plan, work.operands))
      raise(ErrorKind::device,
            "cuda: cublasLtMatmul supports none of the algorithms that it suggests for a product; the next one of its "
            "sizes does without cuBLASLt");
  } else {
    std::vector<void*> arguments;
    list.point_at_arguments(work, arguments);
    launch_now(context_, work.name, work.function, work.blocks, work.threads, work.shared_bytes, arguments.data());
  }
}

GraphStatistics WorkCollector::statistics() {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

GraphStatistics graph_statistics() {
  const Context& c = context();
  return c.collector ? c.collector->statistics() : GraphStatistics();
}

std::string list_ends_text(const GraphStatistics& statistics) {
  constexpr std::array<const char*, kListEnds> kNames = {
      "waits", "copies to the host", "copies to the device", "events", "length", "other calls"};
  std::string text;
  for (size_t i = 0; i < kListEnds; ++i)
    if (statistics.lists[i] > 0)
      text += fmt::format("{}{} by {}", text.empty() ? "" : ", ", statistics.lists[i], kNames[i]);
  return text;
}

void flush_work(const Context& context, ListEnd end) {
  if (context.collector) context.collector->flush(end);
}

}  // namespace tape::cuda_device
