#include "inspect/explorer/parts.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/tape/formula.h"
#include "autograd/tape/graph.h"
#include "text/json.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

int64_t most_of(const Excerpt& excerpt, const ElementLimits& limits) {
  return excerpt.keep == Keep::parameter ? limits.parameters : limits.activations;
}

Json json_of(const Excerpt& excerpt, const ElementLimits& limits) {
  return tensor_json(excerpt, most_of(excerpt, limits));
}

/// Places for the values of excerpts.
Json places_of(const std::vector<Excerpt>& excerpts) { return Json::array_t(excerpts.size()); }

Json places_of(const std::vector<std::vector<Excerpt>>& excerpts) {
  Json list = Json::array();
  for (const std::vector<Excerpt>& one : excerpts) list.push_back(places_of(one));
  return list;
}

/// Calls visit(place, excerpt) for each excerpt of a tape, with its place in the tape's JSON.
template <class Visit>
void each_excerpt(Json& tape, const Recording& recording, const Visit& visit) {
  const auto each = [&](Json& places, const std::vector<Excerpt>& excerpts) {
    for (size_t i = 0; i < excerpts.size(); ++i) visit(places[i], excerpts[i]);
  };
  for (size_t i = 0; i < recording.operations().size(); ++i) {
    const Recording::Operation& operation = recording.operations()[i];
    Json &node = tape["nodes"][i], &outputs = node["outputs"], &contributions = node["contributions"];
    for (size_t j = 0; j < operation.values.size(); ++j) {
      visit(outputs[j]["value"], operation.values[j]);
      each(outputs[j]["gradients"], operation.gradients[j]);
    }
    for (size_t j = 0; j < operation.contributions.size(); ++j) each(contributions[j], operation.contributions[j]);
  }
  for (size_t i = 0; i < recording.leaves().size(); ++i) {
    const Recording::Leaf& leaf = recording.leaves()[i];
    Json& json = tape["leaves"][i];
    visit(json["value"], leaf.shown);
    each(json["gradients"], leaf.gradients);
  }
}

/// Source line of an operation in a user's function; models have none to show.
std::string line_of(const Node& node, const Study& study) {
  if (!node.trace || (study.kind != "function" && study.kind != "module")) return "";
  return node.trace->source();
}

Json time_json(const std::optional<double>& microseconds) {
  if (!microseconds) return nullptr;
  return std::round(*microseconds * 10) / 10;
}

/// NaN and infinity, which JSON cannot represent, become strings.
Json attributes_json(const Attributes& attributes) {
  Json json = Json::object();
  for (const Attribute& attribute : attributes) {
    const double* number = std::get_if<double>(&attribute.value);
    if (number && !std::isfinite(*number))
      json[attribute.name] = to_string(attribute.value);
    else
      std::visit([&](const auto& held) { json[attribute.name] = held; }, attribute.value);
  }
  return json;
}

std::string saved_as(const Recording::Operation& operation, const Node::Saved& saved) {
  if (saved.output >= 0) return fmt::format("output {}", saved.output);
  if (operation.step)
    for (size_t i = 0; i < operation.step->inputs.size(); ++i) {
      const Tensor& input = operation.step->inputs[i];
      if (input.defined() && input.shares_storage(saved.value) && input.impl().offset == saved.value.impl().offset)
        return fmt::format("input {}", i);
    }
  return "an intermediate value";
}

class TapeWriter {
 public:
  TapeWriter(const Recording& recording, const std::vector<GuiltyOperation>& guilty) : recording_(recording) {
    for (const GuiltyOperation& one : guilty)
      for (const size_t node : guilty_nodes(recording, one)) guilty_.emplace(node, one);
  }

  Json json() const {
    Json nodes = Json::array(), leaves = Json::array();
    for (size_t i = 0; i < recording_.operations().size(); ++i) nodes.push_back(node(i));
    for (const Recording::Leaf& leaf : recording_.leaves()) leaves.push_back(this->leaf(leaf));
    Json roots = Json::array();
    for (const PageOutput& output : recording_.outputs())
      roots.push_back(recording_.index_of(output.value.impl().node.get()));
    Json tape = Json::object();
    reserve_members(tape, 3);
    tape["nodes"] = std::move(nodes);
    tape["leaves"] = std::move(leaves);
    tape["roots"] = std::move(roots);
    return tape;
  }

 private:
  Json node(size_t id) const {
    const Recording::Operation& operation = recording_.operations()[id];
    const Node& node = *operation.node;
    Json json{{"id", id},
              {"recorded", operation.step ? Json(operation.step->recorded) : Json(nullptr)},
              {"operation", node.name()},
              {"attributes", attributes_json(node.attributes)},
              {"module", module_of(node)},
              {"line", line_of(node, recording_.study())},
              {"inputs", inputs(operation)},
              {"outputs", outputs(operation)},
              {"contributions", places_of(operation.contributions)}};
    add_saved(json, operation);
    json["forward_us"] = time_json(operation.forward_us);
    json["backward_us"] = Json::array();
    for (const auto& time : operation.backward_us) json["backward_us"].push_back(time_json(time));
    const Tensors nothing;
    const Formula formula = formula_of(node, operation.step ? operation.step->inputs : nothing);
    json["formula"] = {{"forward", formula.forward}, {"backward", formula.backward}};
    if (const auto guilty = guilty_.find(id); guilty != guilty_.end())
      json["guilty"] = {{"error", guilty->second.gradient.max_error}, {"text", to_string(guilty->second)}};
    return json;
  }

  Json inputs(const Recording::Operation& operation) const {
    Json list = Json::array();
    for (size_t i = 0; i < operation.node->inputs.size(); ++i) {
      const Node::Edge& edge = operation.node->inputs[i];
      const auto constant =
          !edge.node && operation.step ? recording_.constant(operation.step->inputs[i]) : std::nullopt;
      if (edge.node && edge.node->is_leaf())
        list.push_back({{"leaf", recording_.index_of(edge.node.get())}});
      else if (edge.node)
        list.push_back({{"node", recording_.index_of(edge.node.get())}, {"output", edge.output}});
      else if (constant)
        list.push_back({{"leaf", *constant}});
      else
        list.push_back(nullptr);
    }
    return list;
  }

  Json outputs(const Recording::Operation& operation) const {
    Json list = Json::array();
    for (size_t i = 0; i < operation.node->outputs.size(); ++i) {
      const Node::Output& output = operation.node->outputs[i];
      list.push_back({{"shape", output.shape.to_vector()},
                      {"dtype", to_string(output.dtype)},
                      {"axes", axes_json(operation.axes[i])},
                      {"value", nullptr},
                      {"gradients", places_of(operation.gradients[i])}});
    }
    return list;
  }

  void add_saved(Json& json, const Recording::Operation& operation) const {
    Json list = Json::array();
    double total = 0;
    for (const Node::Saved& saved : operation.node->saved) {
      if (!saved.value.defined()) continue;
      const double bytes = bytes_of({saved.value});
      total += bytes;
      list.push_back({{"what", saved_as(operation, saved)},
                      {"shape", saved.value.shape().to_vector()},
                      {"bytes", static_cast<int64_t>(bytes)}});
    }
    json["saved"] = std::move(list);
    json["saved_bytes"] = static_cast<int64_t>(total);
  }

  Json leaf(const Recording::Leaf& leaf) const {
    return {{"name", leaf.name},
            {"kind", leaf.kind},
            {"shape", leaf.value.shape().to_vector()},
            {"dtype", to_string(leaf.value.dtype())},
            {"value", nullptr},
            {"gradients", places_of(leaf.gradients)}};
  }

  const Recording& recording_;
  std::map<size_t, GuiltyOperation> guilty_;
};

}  // namespace

Json tape_json(const Recording& recording, const std::vector<GuiltyOperation>& guilty) {
  return TapeWriter(recording, guilty).json();
}

void add_values(Json& tape, const Recording& recording, const ElementLimits& limits) {
  each_excerpt(tape, recording, [&](Json& place, const Excerpt& excerpt) { place = json_of(excerpt, limits); });
}

std::vector<size_t> guilty_nodes(const Recording& recording, const GuiltyOperation& guilty) {
  const auto& operations = recording.operations();
  std::vector<size_t> same, module;
  for (size_t i = 0; i < operations.size(); ++i) {
    const Node& node = *operations[i].node;
    // If the search ran in a Composed scope as well, operation indices match exactly.
    if (guilty.composed && operations[i].step && operations[i].step->recorded == guilty.place &&
        guilty.operation == node.name())
      return {i};
    if (module_of(node) != guilty.module_path) continue;
    if (guilty.operation == node.name()) same.push_back(i);
    module.push_back(i);
  }
  // A fused operation is not on this tape, so the last of its steps represents it.
  if (same.empty() && !module.empty()) return {module.back()};
  std::vector<size_t> here;  // called from the same source line
  for (const size_t i : same)
    if (const Node& node = *operations[i].node; node.trace && node.trace->source() == guilty.source) here.push_back(i);
  return here.empty() ? same : here;
}

}  // namespace tape::inspect
