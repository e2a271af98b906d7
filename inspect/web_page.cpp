#include "inspect/web_page.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace tape::inspect {
namespace {

// Placeholder where inspect/web/build.mjs leaves room for the data.
constexpr std::string_view room = "\"@data@\"";

}  // namespace

std::string json_for_html(const nlohmann::ordered_json& data) {
  const std::string json = dump_json(data);
  std::string safe;
  safe.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = std::string_view(json).substr(i, 3);
    if (rest == "\u2028" || rest == "\u2029") {
      safe += rest == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else if (json[i] == '<' || json[i] == '>' || json[i] == '&') {
      safe += json[i] == '<' ? "\\u003c" : json[i] == '>' ? "\\u003e" : "\\u0026";
    } else {
      safe += json[i];
    }
  }
  return safe;
}

std::string web_page(std::string_view name, const nlohmann::ordered_json& data) {
  const std::string_view page = web_asset(name);
  const size_t place = page.find(room);
  TAPE_ASSERT(place != std::string_view::npos);
  std::string out(page.substr(0, place));
  out += json_for_html(data);
  out += page.substr(place + room.size());
  return out;
}

}  // namespace tape::inspect
