#include "autograd/gradcheck/blame_step.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/broadcast.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/op.h"

namespace tape::detail {
namespace {

bool all_f64(const RecordedStep& step) {
  const auto is_f64 = [](const Tensor& tensor) { return tensor.dtype() == f64; };
  return std::all_of(step.outputs.begin(), step.outputs.end(), is_f64) &&
         std::all_of(step.slots.begin(), step.slots.end(), [&](const auto& slot) { return is_f64(slot.tensor); });
}

/// Records the gradients that arrive at each node of a backward pass.
class Arrivals : public Observer {
 public:
  void on_backward_done(const Node& node, const Tensors& gradients, const Tensors&) override { at[&node] = gradients; }
  std::unordered_map<const Node*, Tensors> at;
};

/// Returns the gradients that arrive at each step if the results have random heads.
std::unordered_map<const Node*, Tensors> arriving(const Replay& replay, Generator& stream) {
  Tensors reached, seeds, leaves;
  for (const Tensor& result : replay.results()) {
    if (!result.requires_grad()) continue;
    reached.push_back(result);
    seeds.push_back(randn(result.shape(), result.dtype(), stream));
  }
  for (const RecordedStep& step : replay.steps())
    for (const RecordedStep::Slot& slot : step.slots)
      if (!slot.source) leaves.push_back(slot.tensor);
  Arrivals arrivals;
  if (!reached.empty()) grad(reached, leaves, {.gradients = seeds, .retain_graph = true, .allow_unused = true});
  return std::move(arrivals.at);
}

/// Returns random values where a gradient arrives. An output of -inf has no derivative.
Tensors make_head(const RecordedStep& step, const Tensors& arrived, Generator& stream) {
  Tensors head(step.outputs.size());
  for (size_t i = 0; i < arrived.size(); ++i) {
    if (!arrived[i].defined()) continue;
    head[i] = randn(step.outputs[i].shape(), f64, stream);
    double* w = head[i].mutable_data<double>();
    const double *y = step.outputs[i].data<double>(), *g = arrived[i].data<double>();
    for (int64_t j = 0; j < head[i].numel(); ++j)
      if (!std::isfinite(y[j]) || g[j] == 0) w[j] = 0;
  }
  return head;
}

/// A table's padding row gets no gradient by design, so this zeroes the head where that row was looked up. Returns the
/// row if a gradient arrived for it.
std::optional<int64_t> leave_out_padding(const RecordedStep& step, Tensors& head) {
  const std::optional<int64_t> padding = step.node->attributes.get<int64_t>("padding_id");
  if (!padding || !head[0].defined()) return {};
  const Tensor ids = step.node->saved[0].value;
  const int64_t width = head[0].size(-1);
  double* w = head[0].mutable_data<double>();
  bool arrived = false;
  for (int64_t i = 0; i < ids.numel(); ++i) {
    if (ids.data<int64_t>()[i] != *padding) continue;
    double* row = w + i * width;
    arrived = arrived || std::any_of(row, row + width, [](double value) { return value != 0; });
    std::fill(row, row + width, 0.0);
  }
  return arrived ? padding : std::nullopt;
}

}  // namespace

Tensors own_gradients(const RecordedStep& step, const Node& node, const Tensors& head) {
  const NoGrad no_grad;
  std::vector<bool> needed(node.inputs.size());
  for (size_t i = 0; i < needed.size(); ++i) needed[i] = static_cast<bool>(node.inputs[i].node);
  const Tensors results = node.backward(BackwardContext(node, head, needed, false));
  Tensors gradients;
  for (const RecordedStep::Slot& slot : step.slots) {
    Tensor sum = zeros_like(slot.tensor.detach());
    for (const size_t input : slot.inputs)
      if (input < results.size() && results[input].defined()) sum = sum + sum_to(results[input], sum.shape());
    gradients.push_back(sum);
  }
  return gradients;
}

RunGradients::RunGradients(const Replay& replay, Generator& stream) {
  const auto arriving_at = arriving(replay, stream);
  for (const RecordedStep& step : replay.steps()) {
    StepGradients& gradients = steps.emplace_back();
    Tensors& arriving_here = arrived.emplace_back();
    const auto found = arriving_at.find(step.node.get());
    if (found == arriving_at.end() || step.slots.empty()) continue;
    if (!all_f64(step)) {
      ++other_dtypes;
      continue;
    }
    ++checked;
    arriving_here = found->second;
    gradients.head = make_head(step, found->second, stream);
    const std::optional<int64_t> padding = leave_out_padding(step, gradients.head);
    gradients.values = step.outputs;
    gradients.slots = own_gradients(step, *step.node, gradients.head);
    if (!padding) continue;
    const std::string path = step.node->trace ? step.node->trace->module_path : "";
    frozen.push_back(
        fmt::format("row {} of '{}'{}", *padding, step.op->name(), path.empty() ? "" : fmt::format(" ({})", path)));
  }
}

}  // namespace tape::detail
