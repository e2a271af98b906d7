#include "models/decoding/repeats.h"

#include <algorithm>

namespace tape::models {

std::vector<int64_t> repeating_tokens(std::span<const int64_t> said, int64_t n) {
  std::vector<int64_t> found;
  if (n < 1 || std::ssize(said) < n) return found;
  const std::span<const int64_t> last = said.last(static_cast<size_t>(n - 1));
  for (size_t at = 0; at + last.size() < said.size(); ++at)
    if (std::ranges::equal(said.subspan(at, last.size()), last)) found.push_back(said[at + last.size()]);
  return found;
}

}  // namespace tape::models
