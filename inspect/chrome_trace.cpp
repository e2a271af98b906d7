#include "inspect/chrome_trace.h"

#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/module_path.h"
#include "text/json.h"

namespace tape {
namespace {

using Json = nlohmann::ordered_json;
using Event = Profile::Event;

constexpr const char* kPasses[] = {"forward", "backward", "other"};

double microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e3; }

Json slice(const std::string& name, const char* category, int64_t begin, int64_t end) {
  return {{"name", name},
          {"cat", category},
          {"ph", "X"},
          {"pid", 1},
          {"tid", 1},
          {"ts", microseconds(begin)},
          {"dur", microseconds(end - begin)}};
}

Json operation(const Event& event) {
  Json json = slice(event.name, kPasses[static_cast<size_t>(event.pass)], event.begin, event.end);
  Json& details = json["args"] = {{"module", event.module_path}, {"bytes", event.bytes}, {"flops", event.flops}};
  if (!event.attributes.empty()) details["attributes"] = event.attributes;
  const auto nanoseconds = static_cast<double>(event.end - event.begin);
  if (event.flops > 0 && nanoseconds > 0) details["GFLOP/s"] = event.flops / nanoseconds;
  return json;
}

/// Adds the slices of modules: one for each run of consecutive events in it, outer modules first.
class ModuleSlices {
 public:
  explicit ModuleSlices(Json& events) : events_(events) {}

  void see(const Event& event) {
    if (event.pass == Profile::Pass::other) return;  // between two operations of a module
    const std::vector<std::string_view> parts = split_module_path(event.module_path);
    size_t common = 0;
    while (common < parts.size() && common < open_.size() && open_[common].name == parts[common] &&
           open_[common].pass == event.pass)
      ++common;
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(common), open_.end());
    for (size_t i = common; i < parts.size(); ++i) {
      open_.push_back({std::string(parts[i]), event.pass, event.begin, events_.size()});
      events_.push_back(slice(open_.back().name, "module", event.begin, event.end));
    }
    for (const Open& module : open_) events_[module.place]["dur"] = microseconds(event.end - module.begin);
  }

 private:
  struct Open {
    std::string name;
    Profile::Pass pass;
    int64_t begin;
    size_t place;
  };

  Json& events_;
  std::vector<Open> open_;
};

Json metadata(const char* what, const char* name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", 1}, {"args", {{"name", name}}}};
}

}  // namespace

std::string chrome_trace(const Profile& profile) {
  Json events = {metadata("process_name", "tapeformer"), metadata("thread_name", "tape")};
  ModuleSlices modules(events);
  for (const Event& event : profile.events()) {
    modules.see(event);
    events.push_back(operation(event));
    events.push_back({{"name", "live memory"},
                      {"ph", "C"},
                      {"pid", 1},
                      {"ts", microseconds(event.end)},
                      {"args", {{"bytes", event.live_bytes}}}});
  }
  return dump_json({{"displayTimeUnit", "ms"}, {"traceEvents", events}});
}

void write_chrome_trace(const std::string& path, const Profile& profile) { write_file(path, chrome_trace(profile)); }

}  // namespace tape
