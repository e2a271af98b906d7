#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/support/files.h"

namespace tape::train {

/// The events of one kind in a run's log.
inline std::vector<nlohmann::ordered_json> events_of(const std::string& run, const std::string& kind) {
  std::vector<nlohmann::ordered_json> found;
  for (const std::string& line : lines_of(run + "/log.jsonl"))
    if (auto event = nlohmann::ordered_json::parse(line); event["event"] == kind) found.push_back(std::move(event));
  return found;
}

}  // namespace tape::train
