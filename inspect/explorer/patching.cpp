#include "inspect/explorer/parts.h"

#include <nlohmann/json.hpp>

#include "autograd/create.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

nlohmann::ordered_json patching_json(const Patching& patching) {
  Json texts = Json::array(), grids = Json::array();
  for (const Study::Text& text : patching.texts) texts.push_back(text.tokens);
  for (const PatchGrid& grid : patching.grids) {
    std::vector<float> values;
    for (const auto& row : grid.values)
      for (const auto& outputs : row)
        for (const double value : outputs) values.push_back(static_cast<float>(value));
    const Shape shape{std::ssize(grid.values), std::ssize(grid.values.at(0)), std::ssize(patching.clean)};
    grids.push_back({{"name", grid.name},
                     {"modules", grid.modules},
                     {"text", grid.text},
                     {"heads", grid.heads},
                     {"values", tensor_json(from_vector(values, shape))}});
  }
  return {{"clean", patching.clean},
          {"corrupted", patching.corrupted},
          {"texts", std::move(texts)},
          {"grids", std::move(grids)}};
}

}  // namespace tape::inspect
