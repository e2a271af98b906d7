#include "autograd/gradcheck/recorded_call.h"

#include <fmt/format.h>

#include "autograd/gradcheck/report.h"
#include "autograd/tape/graph.h"

namespace tape::detail {

std::string describe_call(const RecordedStep& step) {
  const auto at = describe_step<UnrecordedRead>(step, 0);
  std::string text = fmt::format("'{}'", at.operation);
  if (!at.module_path.empty()) text += fmt::format(" ({})", at.module_path);
  if (!at.source.empty()) text += fmt::format(", called at {}", at.source.substr(at.source.find_last_of('/') + 1));
  return text;
}

std::string stale_tensor_note(const Replay& replay, const std::vector<NamedTensor>& variables) {
  const auto leads_to_a_variable = [&](const Tensor& tensor) {
    for (const Node* node : nodes_behind({tensor}))
      for (const NamedTensor& variable : variables) {
        const Node* leaf = variable.tensor.impl().node.get();
        if (!leaf) continue;
        if (node == leaf) return true;
        // A backward that freed the node released its leaves.
        for (const Node::Edge& edge : node->inputs)
          if (!edge.node && edge.earliest <= leaf->sequence && leaf->sequence <= edge.latest) return true;
      }
    return false;
  };
  for (const RecordedStep& step : replay.steps()) {
    for (const RecordedStep::Slot& slot : step.slots) {
      const Node& node = *slot.tensor.impl().node;
      if (slot.source || node.is_leaf() || node.sequence >= replay.start() || !leads_to_a_variable(slot.tensor))
        continue;
      return fmt::format(
          "{}, uses input {} {}, which '{}' computed in an earlier call: the gradient follows it to the variables, the "
          "differences do not. Compute it in each call.",
          describe_call(step), slot.inputs.front(), to_string(slot.tensor.shape()), node.name());
    }
  }
  return "";
}

}  // namespace tape::detail
