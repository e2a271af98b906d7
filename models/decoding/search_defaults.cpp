#include "models/decoding/search_defaults.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tape::models {

std::string note_of(const SearchDefaults& defaults, const std::string& folder) {
  const std::vector<std::string>& keys = defaults.not_followed;
  if (keys.empty()) return {};
  return fmt::format("{}/generation_config.json: {} {} not followed", folder, fmt::join(keys, ", "),
                     keys.size() == 1 ? "is" : "are");
}

}  // namespace tape::models
