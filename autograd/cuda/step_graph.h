#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "context.h"
#include "work_list.h"

namespace tape::cuda_device {

/// A list as an executable graph, each work after the one before. A product of cuBLASLt is captured as a graph of its
/// own, which becomes one node.
class StepGraph : NonCopyable {
 public:
  /// Check valid(): a driver may refuse.
  StepGraph(const Context& context, WorkList list, uint64_t hash);
  ~StepGraph();

  bool valid() const { return executable_ != nullptr; }
  uint64_t hash() const { return hash_; }
  /// Which call the driver refused and why, or "".
  const std::string& refusal() const { return refusal_; }
  /// Whether it can be launched with the arguments of a list whose hash_of_shape() is `hash`.
  bool fits(const WorkList& list, uint64_t hash) const { return hash == hash_ && list_.same_shape(list); }
  /// Gives the nodes the arguments of a list of the same shape, and counts those that change. Returns false if the
  /// driver refuses: the graph must not be used any more.
  bool change(const WorkList& list, int64_t& changed);
  /// Launches it as `list`, whose arguments the nodes have. Returns the list that it was launched as before.
  WorkList launch(WorkList list);

 private:
  bool add_node(const WorkList::Work& work);
  Result add_to_graph(const WorkList::Work& work, void*& node);
  bool change_node(size_t index, const WorkList& list);
  Result change_in_graph(const WorkList::Work& work, const WorkList& list, void* node);
  bool accepted(Result result, const char* call);

  const Context& context_;
  WorkList list_;  // with the arguments of the nodes
  uint64_t hash_;
  std::string refusal_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
  std::vector<void*> nodes_, arguments_;
};

}  // namespace tape::cuda_device
