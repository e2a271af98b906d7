#include "models/folders/layout_prefix.h"

#include <algorithm>

namespace tape::models {
namespace {

bool explains(const PrefixMismatch& prefix, const std::vector<std::string>& missing,
              const std::set<std::string>& unexpected) {
  return std::ranges::all_of(missing, [&](const std::string& name) {
    return name.starts_with(prefix.needed) && unexpected.contains(prefix.theirs + name.substr(prefix.needed.size()));
  });
}

}  // namespace

std::optional<PrefixMismatch> find_prefix_mismatch(const std::vector<std::string>& missing,
                                                   const std::set<std::string>& unexpected) {
  if (missing.empty()) return std::nullopt;
  const std::string& first = missing.front();
  for (size_t at = 0; at < first.size(); at = first.find('.', at) + 1) {  // each suffix of whole components
    const std::string rest = first.substr(at);
    for (const std::string& name : unexpected) {
      if (!name.ends_with(rest)) continue;
      PrefixMismatch found{name.substr(0, name.size() - rest.size()), first.substr(0, at), rest};
      if (!found.theirs.empty() && found.theirs.back() != '.') continue;
      if (explains(found, missing, unexpected)) return found;
    }
    if (first.find('.', at) == std::string::npos) break;
  }
  return std::nullopt;
}

}  // namespace tape::models
