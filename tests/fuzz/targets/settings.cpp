#include "train/runs/settings.h"
#include <fmt/format.h>

#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// The settings of two runs: neither differs from itself, and differences are symmetric.
void fuzz_settings(Bytes bytes) {
  const std::vector<std::string_view> parts = parts_of(bytes);
  const std::string then(parts.front()), now(parts.back());
  const auto compare = [](const std::string& a, const std::string& b) {
    return accepted([&] { return train::differing_settings(a, b); });
  };
  const auto same = compare(then, then), forth = compare(then, now), back = compare(now, then);
  if (same) expect(same->empty(), "settings differ from themselves: {}", fmt::join(*same, ", "));
  expect(forth.has_value() == back.has_value(), "rejected in one direction only");
  if (forth) expect(forth->size() == back->size(), "{} differ, {} in the other direction", forth->size(), back->size());
}

}  // namespace tape::fuzz
