#include "inspect/shared_data.h"

#include <string>
#include <unordered_map>

#include <nlohmann/json.hpp>

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShort = 24;  // replacing shorter strings with an index saves little

/// Calls `visit` with the "data" of each tensor.
template <class Visit>
void each_data(Json& json, const Visit& visit) {
  if (json.is_object() && json.contains("data") && json["data"].is_string() && json.contains("shape"))
    return visit(json["data"]);
  if (json.is_structured())
    for (Json& inner : json) each_data(inner, visit);
}

}  // namespace

Json share_repeated_data(Json data) {
  std::unordered_map<std::string, size_t> times;
  each_data(data, [&](const Json& one) { ++times[one.get_ref<const std::string&>()]; });
  std::unordered_map<std::string, size_t> places;
  Json shared = Json::array();
  each_data(data, [&](Json& one) {
    const auto& text = one.get_ref<const std::string&>();
    if (times.at(text) < 2 || text.size() < kShort) return;
    const auto [found, added] = places.try_emplace(text, shared.size());
    const size_t place = found->second;
    if (added) shared.push_back(std::move(one));
    one = place;
  });
  data["shared"] = std::move(shared);
  return data;
}

}  // namespace tape::inspect
