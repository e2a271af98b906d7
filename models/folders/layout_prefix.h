#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tape::models {

/// Names begin with `theirs` in a file, but with `needed` in its layout.
struct PrefixMismatch {
  std::string theirs, needed;
  std::string example;  ///< a name after either prefix
};

/// The prefix whose replacement turns unexpected names into all missing ones; nullopt if there is none.
std::optional<PrefixMismatch> find_prefix_mismatch(const std::vector<std::string>& missing,
                                                   const std::set<std::string>& unexpected);

}  // namespace tape::models
