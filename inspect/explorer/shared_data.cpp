#include "inspect/explorer/shared_data.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "text/json.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kShort = 24;  // replacing shorter strings with an index saves little

/// Calls `visit` with the "data" of each tensor.
template <class Visit>
void each_data(Json& json, const Visit& visit) {
  if (json.is_object()) {
    const auto data = json.find("data");
    if (data != json.end() && data->is_string() && json.contains("shape")) return visit(*data);
  }
  if (json.is_structured())
    for (Json& inner : json) each_data(inner, visit);
}

/// Hashes a few windows of a string, since strings that differ mostly differ everywhere.
struct SampledHash {
  size_t operator()(std::string_view text) const {
    constexpr size_t kWindow = 16, kWindows = 8;
    const std::hash<std::string_view> hash;
    if (text.size() <= kWindow * kWindows) return hash(text);
    size_t mixed = text.size();
    for (size_t i = 0; i < kWindows; ++i)
      mixed = mixed * 31 + hash(text.substr(i * (text.size() - kWindow) / (kWindows - 1), kWindow));
    return mixed;
  }
};

}  // namespace

Json share_repeated_data(Json data) {
  std::unordered_map<std::string_view, size_t, SampledHash> known;
  std::vector<std::vector<Json*>> places;  // of each text, in the order of their first places
  each_data(data, [&](Json& one) {
    const auto& text = one.get_ref<const std::string&>();
    if (text.size() < kShort) return;
    const auto [found, added] = known.try_emplace(text, places.size());
    if (added) places.emplace_back();
    places[found->second].push_back(&one);
  });
  Json shared = Json::array();
  for (const std::vector<Json*>& of_text : places) {
    if (of_text.size() < 2) continue;
    const size_t index = shared.size();
    shared.push_back(std::move(*of_text[0]));
    for (Json* const place : of_text) *place = index;
  }
  reserve_members(data, data.size() + 1);
  data["shared"] = std::move(shared);
  return data;
}

}  // namespace tape::inspect
