#include "autograd/tape/graph.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

namespace tape {

std::vector<const Node*> nodes_behind(const Tensors& outputs, uint64_t earliest) {
  std::vector<const Node*> found, stack;
  std::unordered_set<const Node*> seen;
  const auto visit = [&](const Node* node) {
    if (node && node->sequence >= earliest && seen.insert(node).second) stack.push_back(node);
  };
  for (const Tensor& output : outputs)
    if (output.defined()) visit(output.impl().node.get());
  while (!stack.empty()) {
    const Node* node = stack.back();
    stack.pop_back();
    found.push_back(node);
    for (const Node::Edge& edge : node->inputs) visit(edge.node.get());
  }
  std::sort(found.begin(), found.end(), [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
  return found;
}

void check_recorded(const char* operation, const Tensor& loss) {
  if (!loss.defined()) raise(ErrorKind::graph, "{}: the loss is undefined", operation);
  if (!loss.requires_grad())
    raise(ErrorKind::graph, "{}: the loss {} has no graph: nothing it was computed from requires gradients", operation,
          to_string(loss.shape()));
  if (loss.impl().node->released)
    raise(ErrorKind::graph, "{}: the tape of '{}' was freed by a backward; call this before it, or pass retain_graph",
          operation, loss.impl().node->name());
}

std::string module_of(const Node& node) { return node.trace ? node.trace->module_path : ""; }

void name_leaf(const Tensor& leaf, const std::string& name) {
  const TensorImpl& impl = leaf.impl();
  for (Node* const node : {impl.node.get(), impl.frozen_leaf.get()})
    if (node && node->is_leaf()) node->attributes = Attributes({{"name", std::string_view(name)}});
}

std::string leaf_name(const Tensor& leaf) {
  const TensorImpl& impl = leaf.impl();
  const Node* const node = impl.node ? impl.node.get() : impl.frozen_leaf.get();
  if (!node || !node->is_leaf()) return "";
  return node->attributes.get<std::string>("name").value_or("");
}

ValueSummary summarize(const Tensor& tensor) {
  ValueSummary s;
  s.count = tensor.numel();
  double sum = 0;
  s.min = INFINITY, s.max = -INFINITY;
  dispatch_all(tensor.dtype(), [&]<class T>(T) {
    const Tensor host = tensor.detach().to(cpu);
    const auto* values = host.data<T>();
    for (int64_t i = 0; i < s.count; ++i) {
      const auto value = static_cast<double>(values[i]);
      if (std::isnan(value)) {
        ++s.nan;
      } else if (std::isinf(value)) {
        ++s.infinite;
      } else {
        s.min = std::min(s.min, value);
        s.max = std::max(s.max, value);
        sum += value;
      }
    }
    return 0;
  });
  const int64_t finite = s.count - s.nan - s.infinite;
  if (finite == 0) s.min = s.max = 0;
  s.mean = finite > 0 ? sum / static_cast<double>(finite) : 0;
  return s;
}

std::string to_string(const ValueSummary& s) {
  if (s.count == 0) return "empty";
  std::string text;
  if (s.count > s.nan + s.infinite)
    text = s.min == s.max ? fmt::format("{:.4g}", s.min)
                          : fmt::format("{:.4g} .. {:.4g}, mean {:.4g}", s.min, s.max, s.mean);
  const auto add = [&text](int64_t count, const char* what) {
    if (count == 0) return;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count, what);
  };
  add(s.nan, "NaN");
  add(s.infinite, "inf");
  return text;
}

double bytes_of(TensorList tensors) {
  double bytes = 0;
  for (const Tensor& tensor : tensors)
    if (tensor.defined()) bytes += static_cast<double>(tensor.numel() * size_of(tensor.dtype()));
  return bytes;
}

}  // namespace tape
