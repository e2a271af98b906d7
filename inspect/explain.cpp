#include "inspect/explain.h"

#include <algorithm>
#include <deque>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "autograd/tape/graph.h"

namespace tape {
namespace {

class Explainer {
 public:
  Explainer(const Tensor& tensor, const ExplainOptions& options)
      : tensor_(tensor), options_(options), node_(tensor.impl().node.get()) {
    if (options.loss.defined()) check_recorded("explain", options.loss);
    nodes_ = nodes_behind({options.loss, tensor});
    for (size_t i = 0; i < nodes_.size(); ++i) numbers_[nodes_[i]] = i;
    for (const NamedTensor& named : options.names)
      if (named.tensor.requires_grad()) names_[named.tensor.impl().node.get()] = named.name;
  }

  std::string text() const {
    std::string all = fmt::format("{} {}: {}\n", to_string(tensor_.dtype()), to_string(tensor_.shape()),
                                  to_string(summarize(tensor_)));
    all += origin() + savers();
    if (const Tensor gradient = tensor_.grad(); gradient.defined())
      all += fmt::format("gradient: {}\n", to_string(summarize(gradient)));
    return all + path();
  }

 private:
  /// "'layer_norm' (node 3: eps=1e-05), in encoder.norm"
  std::string called(const Node* node) const {
    if (node->is_leaf()) {
      const auto name = names_.find(node);
      return name == names_.end() ? fmt::format("a leaf (node {})", numbers_.at(node))
                                  : fmt::format("leaf {}", name->second);
    }
    const std::string module = module_of(*node), attributes = to_string(node->attributes);
    return fmt::format("'{}' (node {}{}{}){}{}", node->name(), numbers_.at(node), attributes.empty() ? "" : ": ",
                       attributes, module.empty() ? "" : ", in ", module);
  }

  std::string origin() const {
    if (!node_) return "not on the tape: it needs no gradient\n";
    if (node_->is_leaf()) return fmt::format("{}: backward() accumulates its gradient\n", called(node_));
    std::string text = "made by " + called(node_);
    if (node_->outputs.size() > 1) text += fmt::format(", its output {}", tensor_.impl().output);
    if (options_.source && node_->trace)
      if (const std::string source = node_->trace->source(); !source.empty()) text += ", at " + source;
    text += "\n";
    if (node_->released) return text + "  its inputs were freed by a backward\n";
    for (size_t i = 0; i < node_->inputs.size(); ++i) {
      const Node::Edge& edge = node_->inputs[i];
      if (!edge.node) {
        text += fmt::format("  from input {}, which needs no gradient\n", i);
        continue;
      }
      const Node::Output& output = edge.node->outputs[edge.output];
      text +=
          fmt::format("  from {} {}, {}\n", to_string(output.dtype), to_string(output.shape), called(edge.node.get()));
    }
    return text;
  }

  std::string savers() const {
    std::string text;
    for (const Node* node : nodes_) {
      std::map<std::string, int> times;
      for (const Node::Saved& saved : node->saved) {
        if (!saved.value.defined() || !saved.value.shares_storage(tensor_)) continue;
        const bool whole = saved.value.numel() == tensor_.numel() && saved.value.impl().offset == tensor_.impl().offset;
        ++times[fmt::format("{}{}", saved.output >= 0 ? ", as its output" : "",
                            whole ? "" : fmt::format(", a part {} of its storage", to_string(saved.value.shape())))];
      }
      for (const auto& [how, count] : times)
        text += fmt::format("  {}{}{}\n", called(node), how, count > 1 ? fmt::format(", {} times", count) : "");
    }
    if (!text.empty()) return "saved by\n" + text;
    if (options_.loss.defined() || !node_) return "saved by no node\n";
    return "saved by no node so far (pass the loss to include later ones)\n";
  }

  /// The nodes on the shortest path from the loss to the tensor; empty if there is no path.
  std::vector<const Node*> shortest() const {
    const Node* const start = options_.loss.impl().node.get();
    std::unordered_map<const Node*, const Node*> reached_from{{start, nullptr}};
    std::deque<const Node*> queue{start};
    while (!queue.empty()) {
      const Node* const node = queue.front();
      queue.pop_front();
      for (const Node::Edge& edge : node->inputs) {
        if (!edge.node) continue;
        if (edge.node.get() == node_ && edge.output == tensor_.impl().output) {
          std::vector<const Node*> steps;
          for (const Node* step = node; step; step = reached_from[step]) steps.push_back(step);
          std::reverse(steps.begin(), steps.end());
          return steps;
        }
        if (reached_from.emplace(edge.node.get(), node).second) queue.push_back(edge.node.get());
      }
    }
    return {};
  }

  /// Number of paths from the loss to the tensor.
  double count_paths() const {
    std::map<std::pair<const Node*, uint32_t>, double> count;
    const TensorImpl& loss = options_.loss.impl();
    count[{loss.node.get(), loss.output}] = 1;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) {
      double through = 0;
      for (uint32_t i = 0; i < (*node)->outputs.size(); ++i)
        if (const auto found = count.find({*node, i}); found != count.end()) through += found->second;
      if (through == 0) continue;
      for (const Node::Edge& edge : (*node)->inputs)
        if (edge.node) count[{edge.node.get(), edge.output}] += through;
    }
    return count[{node_, tensor_.impl().output}];
  }

  std::string path() const {
    if (!options_.loss.defined()) return "";
    if (tensor_.is(options_.loss)) return "it is the loss\n";
    if (!node_) return "no gradient flows to it from the loss\n";
    const std::vector<const Node*> steps = shortest();
    if (steps.empty()) return "the loss does not depend on it\n";
    const double paths = count_paths();
    std::string text =
        paths == 1 ? fmt::format("the gradient comes from the loss in {} steps:\n", steps.size())
                   : fmt::format("the gradient comes from the loss along {:.6g} paths, the shortest of {} steps:\n",
                                 paths, steps.size());
    for (const Node* step : steps) text += fmt::format("  {}\n", called(step));
    return text;
  }

  const Tensor& tensor_;
  const ExplainOptions& options_;
  const Node* const node_;
  std::vector<const Node*> nodes_;
  std::unordered_map<const Node*, size_t> numbers_;
  std::unordered_map<const Node*, std::string> names_;
};

}  // namespace

std::string explain(const Tensor& tensor, const ExplainOptions& options) {
  if (!tensor.defined()) return "an undefined tensor: it has no values\n";
  return Explainer(tensor, options).text();
}

std::string explain(const Tensor& tensor, const Tensor& loss) {
  check_recorded("explain", loss);
  return explain(tensor, ExplainOptions{.loss = loss});
}

}  // namespace tape
