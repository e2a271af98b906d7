#include "nn/gradcheck/check_registered.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "autograd/tape/graph.h"
#include "nn/module/unregistered_leaves.h"

namespace tape::nn {
namespace {

constexpr size_t kListed = 10;

const Node* node_of(const Tensor& tensor) { return tensor.defined() ? tensor.impl().node.get() : nullptr; }

UnregisteredTensor described(const Node& leaf, const Node* user) {
  UnregisteredTensor found{.shape = leaf.outputs.front().shape, .operation = "", .module_path = "", .source = ""};
  if (!user) return found;
  found.operation = user->name();
  if (user->trace) {
    found.module_path = user->trace->module_path;
    found.source = user->trace->source();
  }
  return found;
}

}  // namespace

std::vector<const Node*> detail::unregistered_leaves(const Tensors& results, const Tensors& known) {
  std::unordered_set<const Node*> registered;
  for (const Tensor& tensor : known) registered.insert(node_of(tensor));
  std::vector<const Node*> leaves;
  for (const Node* node : nodes_behind(results))
    if (node->is_leaf() && !registered.contains(node)) leaves.push_back(node);
  return leaves;
}

std::vector<UnregisteredTensor> detail::describe_leaves(const Tensors& results,
                                                        const std::vector<const Node*>& leaves) {
  std::unordered_map<const Node*, const Node*> users;
  const std::vector<const Node*> nodes = nodes_behind(results);  // in the order recorded
  for (const Node* node : nodes)
    for (const Node::Edge& edge : node->inputs)
      if (edge.node && edge.node->is_leaf()) users.try_emplace(edge.node.get(), node);
  const auto user_of = [&](const Node* leaf) {
    const auto user = users.find(leaf);
    return user == users.end() ? nullptr : user->second;
  };
  std::vector<const Node*> ordered = leaves;
  std::stable_sort(ordered.begin(), ordered.end(), [&](const Node* a, const Node* b) {
    const Node *first = user_of(a), *second = user_of(b);
    return first && second ? first->sequence < second->sequence : first != nullptr && !second;
  });
  std::vector<UnregisteredTensor> found;
  found.reserve(ordered.size());
  for (const Node* leaf : ordered) found.push_back(described(*leaf, user_of(leaf)));
  return found;
}

void detail::raise_unregistered(const std::string& operation, const Module& model,
                                const std::vector<UnregisteredTensor>& tensors, const std::string& advice) {
  if (tensors.empty()) return;
  std::string list;
  for (size_t i = 0; i < tensors.size() && i < kListed; ++i) list += "\n  " + to_string(tensors[i]);
  if (tensors.size() > kListed) list += fmt::format("\n  and {} more", tensors.size() - kListed);
  raise(
      ErrorKind::config,
      "{}: the loss depends on {} tensor{} with gradients that {} does not register, so {} would not be trained, saved "
      "or printed; {}:{}",
      operation, tensors.size(), tensors.size() == 1 ? "" : "s", model.type_name(), tensors.size() == 1 ? "it" : "they",
      advice, list);
}

std::vector<UnregisteredTensor> find_unregistered(const Tensor& loss, const Module& model, const Tensors& inputs) {
  Tensors known = model.parameters();
  known.insert(known.end(), inputs.begin(), inputs.end());
  return detail::describe_leaves({loss}, detail::unregistered_leaves({loss}, known));
}

void check_registered(const Tensor& loss, const Module& model, const Tensors& inputs) {
  check_recorded("check_registered", loss);
  detail::raise_unregistered("check_registered", model, find_unregistered(loss, model, inputs),
                             "hold a module as nn::Child and a tensor as nn::Parameter, or list it among the inputs");
}

}  // namespace tape::nn
