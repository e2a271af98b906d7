#pragma once

#include <string>
#include <vector>

#include "../named_tensor.h"
#include "../tape/op.h"
#include "replay.h"

namespace tape::detail {

/// As in "'log' (layer), called at layer.cpp:42".
std::string describe_call(const RecordedStep& step);

/// Describes a recorded step in a report: operation, attributes, module and line.
template <class Named>
Named describe_step(const RecordedStep& step, size_t place) {
  Named named;
  named.operation = step.op->name();
  named.attributes = to_string(step.node->attributes);
  named.place = static_cast<int64_t>(place);
  if (step.node->trace) {
    named.module_path = step.node->trace->module_path;
    named.source = step.node->trace->source();
  }
  return named;
}

/// Returns a sentence about the first step that reads a tensor recorded in an earlier call and depending on the
/// variables; "" if there is none. Gradients follow such a tensor, differences do not.
std::string stale_tensor_note(const Replay& replay, const std::vector<NamedTensor>& variables);

}  // namespace tape::detail
