#include <cmath>

#include <nlohmann/json.hpp>

#include "autograd/gradcheck/report.h"

namespace tape {
namespace {

using nlohmann::ordered_json;

ordered_json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

ordered_json list(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

ordered_json object(const GradcheckResult& result) {
  return {{"name", result.name},
          {"shape", list(result.shape)},
          {"ok", result.ok()},
          {"checked", result.checked},
          {"share", result.share()},
          {"wrong", result.wrong},
          {"max_error", number(result.max_error)},
          {"worst", result.worst},
          {"analytic", number(result.analytic)},
          {"numeric", number(result.numeric)},
          {"all_zero", result.all_zero},
          {"explanation", result.explanation},
          {"kinks", result.kinks},
          {"kink_at", result.kink_at},
          {"slope_below", number(result.slope_below)},
          {"slope_above", number(result.slope_above)},
          {"directions", result.directions},
          {"miss_chance", number(result.miss_chance)},
          {"miss_element", number(result.miss_element)}};
}

ordered_json object(const GuiltyOperation& guilty) {
  return {{"operation", guilty.operation},
          {"attributes", guilty.attributes},
          {"module_path", guilty.module_path},
          {"source", guilty.source},
          {"place", guilty.place},
          {"composed", guilty.composed},
          {"derivative", guilty.derivative == Derivative::first ? 1 : 2},
          {"gradient", object(guilty.gradient)}};
}

}  // namespace

std::string to_json(const GradcheckReport& report) {
  ordered_json root = {{"ok", report.ok()},
                       {"share", report.share()},
                       {"seconds", number(report.seconds)},
                       {"out_of_time", report.out_of_time},
                       {"variables", ordered_json::array()},
                       {"guilty", ordered_json::array()},
                       {"blame", report.blame}};
  for (const GradcheckResult& result : report.variables) root["variables"].push_back(object(result));
  for (const GuiltyOperation& guilty : report.guilty) root["guilty"].push_back(object(guilty));
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tape
