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
          {"undecided", result.undecided},
          {"undecided_at", result.undecided_at},
          {"undecided_value", number(result.undecided_value)},
          {"undecided_gradient", number(result.undecided_gradient)},
          {"undecided_reason", result.undecided_reason},
          {"large_steps", result.large_steps},
          {"large_step_at", result.large_step_at},
          {"large_step_value", number(result.large_step_value)},
          {"large_step", number(result.large_step)},
          {"smaller_step", number(result.smaller_step)},
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

ordered_json object(const UnrecordedRead& read) {
  return {{"operation", read.operation}, {"attributes", read.attributes}, {"module_path", read.module_path},
          {"source", read.source},       {"place", read.place},           {"value", read.value},
          {"origin", read.origin},       {"variables", read.variables}};
}

ordered_json object(const UnregisteredTensor& tensor) {
  return {{"shape", list(tensor.shape)},
          {"operation", tensor.operation},
          {"module_path", tensor.module_path},
          {"source", tensor.source}};
}

}  // namespace

std::string to_json(const GradcheckReport& report) {
  ordered_json root = {{"ok", report.ok()},
                       {"share", report.share()},
                       {"seconds", number(report.seconds)},
                       {"out_of_time", report.out_of_time},
                       {"variables", ordered_json::array()},
                       {"guilty", ordered_json::array()},
                       {"unrecorded", ordered_json::array()},
                       {"unregistered", ordered_json::array()},
                       {"blame", report.blame}};
  for (const GradcheckResult& result : report.variables) root["variables"].push_back(object(result));
  for (const GuiltyOperation& guilty : report.guilty) root["guilty"].push_back(object(guilty));
  for (const UnrecordedRead& read : report.unrecorded) root["unrecorded"].push_back(object(read));
  for (const UnregisteredTensor& tensor : report.unregistered) root["unregistered"].push_back(object(tensor));
  return root.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace tape
