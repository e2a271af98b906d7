#include "inspect/web_page.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/json.h"

namespace tape::inspect {
namespace {

// Placeholder where inspect/web/build.mjs leaves room for the data.
constexpr std::string_view room = "\"@data@\"";

void replace_first(std::string& text, std::string_view from, std::string_view to) {
  if (const size_t place = text.find(from); place != std::string::npos) text.replace(place, from.size(), to);
}

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

std::string with_policy(std::string html, bool live) {
  replace_first(html, " live-script", live ? " 'wasm-unsafe-eval'" : "");
  replace_first(html, "; live-worker", live ? "; worker-src blob:" : "");
  return html;
}

std::string web_page(std::string_view name, const nlohmann::ordered_json& data) {
  const std::string_view page = web_asset(name);
  const size_t place = page.find(room);
  TAPE_ASSERT(place != std::string_view::npos);
  const bool live = data.is_object() && data.contains("live");
  std::string out = with_policy(std::string(page.substr(0, place)), live);
  out += json_for_html(data);
  out += page.substr(place + room.size());
  return out;
}

}  // namespace tape::inspect
