#include "inspect/explorer/parts.h"

#include <unordered_map>

#include <nlohmann/json.hpp>

#include "autograd/create.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(Nudge::Kind kind) {
  return kind == Nudge::Kind::weight ? "weight" : kind == Nudge::Kind::score ? "score" : "activation";
}
const char* name_of(Ablation::Kind kind) {
  return kind == Ablation::Kind::head ? "head" : kind == Ablation::Kind::key ? "key" : "row";
}

Json cuts_json(const std::vector<Ablation>& cuts) {
  Json list = Json::array();
  for (const Ablation& cut : cuts)
    list.push_back({{"kind", name_of(cut.kind)},
                    {"module", cut.module},
                    {"head", cut.head},
                    {"place", cut.place},
                    {"predicted", cut.predicted},
                    {"effects", cut.effects},
                    {"moved", cut.moved}});
  return list;
}

}  // namespace

Json nudges_json(const Recording& recording, const Nudges& nudged) {
  std::unordered_map<int64_t, size_t> nodes;
  for (size_t i = 0; i < recording.operations().size(); ++i)
    if (const TapeValues::Step* step = recording.operations()[i].step) nodes[step->recorded] = i;
  Json places = Json::array();
  std::vector<float> gradients, changes, effects;
  for (const Nudge& nudge : nudged.nudges) {
    const auto node = nodes.find(nudge.recorded);
    if (node == nodes.end()) continue;  // no output depends on it
    if (recording.operations()[node->second].node->name() != nudge.operation)
      raise(ErrorKind::graph, "nudges: operation {} is '{}', but '{}' in f64", nudge.recorded,
            recording.operations()[node->second].node->name(), nudge.operation);
    places.push_back({{"kind", name_of(nudge.kind)},
                      {"node", node->second},
                      {"index", nudge.index},
                      {"value", static_cast<float>(nudge.value)}});
    for (const double gradient : nudge.gradients) gradients.push_back(static_cast<float>(gradient));
    for (const double change : nudge.changes) changes.push_back(static_cast<float>(change));
    for (const std::vector<double>& of_output : nudge.effects)
      for (const double effect : of_output) effects.push_back(static_cast<float>(effect));
  }
  const auto count = std::ssize(places), outputs = std::ssize(recording.outputs()),
             each = nudged.nudges.empty() ? 0 : std::ssize(nudged.nudges[0].changes);
  return {{"dtype", !recording.study().texts.empty() ? "f64" : to_string(recording.outputs()[0].value.dtype())},
          {"places", std::move(places)},
          {"gradients", tensor_json(from_vector(gradients, {count, outputs}))},
          {"changes", tensor_json(from_vector(changes, {count, each}))},
          {"effects", tensor_json(from_vector(effects, {count, outputs, each}))},
          {"cuts", cuts_json(nudged.cuts)}};
}

}  // namespace tape::inspect
