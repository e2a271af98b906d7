#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tape::models {

/// Names begin with `theirs` in a file, and with `needed` in its layout.
struct OtherPrefix {
  std::string theirs, needed;
  std::string example;  ///< behind either
};

/// That by which every missing name is among the unexpected ones; none where there is no such prefix.
std::optional<OtherPrefix> find_other_prefix(const std::vector<std::string>& missing,
                                             const std::set<std::string>& unexpected);

}  // namespace tape::models
