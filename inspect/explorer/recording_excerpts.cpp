#include "inspect/explorer/recording.h"

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/module_path.h"
#include "base/short_list.h"

// Selects the part of each tensor that a recording stores.

namespace tape::inspect {

bool Recording::is_detailed(const std::string& module) const {
  return std::ranges::any_of(keep_.detail,
                             [&](const std::string& pattern) { return matches_pattern(module, pattern); });
}

Excerpt Recording::excerpt(const Tensor& tensor, const std::string& module, Keep keep, const Axes* axes) const {
  if (!tensor.defined()) return {};
  const bool scores = axes && !axes->empty() && axes->back().kind == Axis::Kind::vocabulary;
  if (is_detailed(module) || (scores && vocabulary_.empty())) return excerpt_of(tensor, tensor.numel(), Keep::all);
  if (scores && tensor.rank() == std::ssize(*axes)) return columns_of(tensor, vocabulary_);
  // Keep all tokens, and as many features of each as fit.
  const auto tokens = [&](size_t back) {
    return axes && axes->size() >= back && (*axes)[axes->size() - back].kind == Axis::Kind::tokens;
  };
  return excerpt_of(tensor, keep_.elements, keep, tokens(2) && !tokens(1));
}

Excerpt Recording::contribution(const Operation& operation, size_t input) const {
  if (!operation.step) return {};
  const Node::Edge& edge = operation.node->inputs[input];
  const Tensor sent = operation.step->contribution(input);
  if (!edge.node || edge.node->is_leaf()) {
    const bool known = edge.node && indices_.contains(edge.node.get());
    return excerpt(sent, known ? leaves_[index_of(edge.node.get())].name : "", Keep::parameter);
  }
  // Contributions are truncated like their sum.
  const Operation& maker = operations_[index_of(edge.node.get())];
  return excerpt(sent, module_of(*edge.node), Keep::activation, &maker.axes[edge.output]);
}

void Recording::keep_whole(const Tensors& beside) {
  std::unordered_set<size_t> there;
  for (const Tensor& tensor : beside)
    if (tensor.defined()) there.insert(content_hash(tensor));
  const auto mark = [&](std::vector<Excerpt>& excerpts) {
    for (Excerpt& excerpt : excerpts)
      if (excerpt.is_whole() && there.contains(excerpt.hash)) excerpt.keep = Keep::all;
  };
  for (Operation& operation : operations_) {
    mark(operation.values);
    for (std::vector<Excerpt>& gradients : operation.gradients) mark(gradients);
    for (std::vector<Excerpt>& contributions : operation.contributions) mark(contributions);
  }
}

void Recording::check_detail() const {
  std::set<std::string> modules, outer;
  for (const Operation& operation : operations_) {
    const std::string path = module_of(*operation.node);
    modules.insert(path);
    for (const std::string_view module : enclosing_modules(path)) {
      modules.emplace(module);
      if (split_module_path(module).size() <= 2) outer.emplace(module);
    }
  }
  for (const std::string& pattern : keep_.detail)
    if (std::ranges::none_of(modules, [&](const std::string& module) { return matches_pattern(module, pattern); }))
      raise(ErrorKind::config, "explorer: no module matches the detail \"{}\"; outer modules: {}", pattern,
            short_list({outer.begin(), outer.end()}));
}

}  // namespace tape::inspect
