#include <cmath>

#include "autograd/gradcheck/report.h"
#include "base/json_value.h"

namespace tape {
namespace {

using Array = JsonValue::Array;
using Object = JsonValue::Object;

JsonValue number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

template <class Values>
JsonValue list(const Values& values) {
  return Array(values.begin(), values.end());
}

JsonValue object(const GradcheckResult& result) {
  return Object{{"name", result.name},
                {"shape", list(result.shape)},
                {"ok", result.ok()},
                {"checked", result.checked},
                {"share", result.share()},
                {"wrong", result.wrong},
                {"max_error", number(result.max_error)},
                {"worst", list(result.worst)},
                {"analytic", number(result.analytic)},
                {"numeric", number(result.numeric)},
                {"all_zero", result.all_zero},
                {"explanation", result.explanation},
                {"kinks", result.kinks},
                {"kink_at", list(result.kink_at)},
                {"slope_below", number(result.slope_below)},
                {"slope_above", number(result.slope_above)},
                {"undecided", result.undecided},
                {"undecided_at", list(result.undecided_at)},
                {"undecided_value", number(result.undecided_value)},
                {"undecided_gradient", number(result.undecided_gradient)},
                {"undecided_reason", result.undecided_reason},
                {"large_steps", result.large_steps},
                {"large_step_at", list(result.large_step_at)},
                {"large_step_value", number(result.large_step_value)},
                {"large_step", number(result.large_step)},
                {"smaller_step", number(result.smaller_step)},
                {"directions", result.directions},
                {"miss_chance", number(result.miss_chance)},
                {"miss_element", number(result.miss_element)}};
}

JsonValue object(const GuiltyOperation& guilty) {
  return Object{{"operation", guilty.operation},
                {"attributes", guilty.attributes},
                {"module_path", guilty.module_path},
                {"source", guilty.source},
                {"place", guilty.place},
                {"composed", guilty.composed},
                {"derivative", guilty.derivative == Derivative::first ? 1 : 2},
                {"gradient", object(guilty.gradient)}};
}

JsonValue object(const UnrecordedRead& read) {
  return Object{{"operation", read.operation},
                {"attributes", read.attributes},
                {"module_path", read.module_path},
                {"source", read.source},
                {"place", read.place},
                {"value", read.value},
                {"origin", read.origin},
                {"variables", list(read.variables)}};
}

JsonValue object(const UnregisteredTensor& tensor) {
  return Object{{"shape", list(tensor.shape)},
                {"operation", tensor.operation},
                {"module_path", tensor.module_path},
                {"source", tensor.source}};
}

}  // namespace

std::string to_json(const GradcheckReport& report) {
  const auto all = [](const auto& items) {
    Array objects;
    for (const auto& item : items) objects.push_back(object(item));
    return objects;
  };
  return JsonValue(Object{{"ok", report.ok()},
                          {"share", report.share()},
                          {"seconds", number(report.seconds)},
                          {"out_of_time", report.out_of_time},
                          {"variables", all(report.variables)},
                          {"guilty", all(report.guilty)},
                          {"unrecorded", all(report.unrecorded)},
                          {"unregistered", all(report.unregistered)},
                          {"blame", report.blame}})
      .dump(2);
}

}  // namespace tape
