#include "train/tasks/planned_steps.h"

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "text/json.h"
#include "train/checkpoints/checkpoint.h"

namespace tape::train {
namespace {

constexpr int64_t kFewest = 50;

/// The steps that the newest complete checkpoint of a resumed run had planned when the same number was requested.
std::optional<int64_t> planned_before(const RunFolder* folder, int64_t asked) {
  if (!folder || !folder->resumes()) return std::nullopt;
  const auto checkpoint = newest_intact_folder(folder->path(), folder->checked());
  if (!checkpoint) return std::nullopt;
  const std::string text = load_checkpoint_state(*checkpoint).settings;
  if (text.empty()) return asked;
  const auto settings = parse_json(text, *checkpoint);
  const auto planned = settings.find("planned");
  const auto number = [&](const char* key) {
    const bool there = planned != settings.end() && planned->is_object() && planned->contains(key);
    return there && planned->at(key).is_number_integer() ? planned->at(key).get<int64_t>() : asked;
  };
  return number("asked") == asked ? std::clamp<int64_t>(number("steps"), 1, asked) : asked;
}

}  // namespace

nlohmann::ordered_json PlannedSteps::setting() const { return {{"asked", asked}, {"steps", steps}}; }

PlannedSteps plan_steps(int64_t asked, double budget, const RunFolder* folder,
                        const std::function<double()>& seconds_per_step, std::ostream& out) {
  if (const auto planned = planned_before(folder, asked)) return {asked, *planned};
  if (budget == 0 || asked <= kFewest) return {asked, asked};
  const double pace = seconds_per_step();
  const double affordable = budget / pace;  // may exceed int64_t
  if (affordable >= static_cast<double>(asked)) return {asked, asked};
  const int64_t fewer = std::max(static_cast<int64_t>(affordable), kFewest);
  out << fmt::format("{:.0f} ms per step: {} steps instead of {}, to stay within {:.0f} s\n", pace * 1e3, fewer, asked,
                     budget);
  return {asked, fewer};
}

}  // namespace tape::train
