#include "base/json.h"

#include <unordered_set>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace tape {
namespace {

template <class Json>
Json parse(const std::string& text, const std::string& where, int max_depth) {
  // The keys of the objects that are open.
  std::vector<std::unordered_set<std::string>> open;
  const auto refuse_doubled = [&](int depth, typename Json::parse_event_t event, Json& value) {
    if (depth > max_depth) raise(ErrorKind::format, "{}: nested deeper than {}", where, max_depth);
    switch (event) {
      case Json::parse_event_t::object_start:
        open.emplace_back();
        break;
      case Json::parse_event_t::object_end:
        open.pop_back();
        break;
      case Json::parse_event_t::key:
        if (!open.back().insert(value.template get<std::string>()).second)
          raise(ErrorKind::format, "{}: \"{}\" stands twice", where, value.template get<std::string>());
        break;
      default:
        break;
    }
    return true;
  };
  // nlohmann's texts begin with "[json.exception.parse_error.101] ".
  const auto without_number = [](std::string_view what) {
    const size_t end = what.starts_with("[json.") ? what.find("] ") : std::string_view::npos;
    return end == std::string_view::npos ? what : what.substr(end + 2);
  };
  try {
    Json json = Json::parse(text, refuse_doubled);
    if (!json.is_object()) raise(ErrorKind::format, "{}: not a JSON object", where);
    return json;
  } catch (const typename Json::exception& error) {
    raise(ErrorKind::format, "{}: {}", where, without_number(error.what()));
  }
}

}  // namespace

nlohmann::ordered_json parse_json(const std::string& text, const std::string& where, int max_depth) {
  return parse<nlohmann::ordered_json>(text, where, max_depth);
}

nlohmann::json parse_large_json(const std::string& text, const std::string& where, int max_depth) {
  return parse<nlohmann::json>(text, where, max_depth);
}

}  // namespace tape
