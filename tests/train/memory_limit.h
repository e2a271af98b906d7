#pragma once

#include <functional>
#include <optional>

#include <gtest/gtest.h>

#include "autograd/memory.h"

namespace tape::train {

/// Checks that a run within `share` of the memory that it takes without a limit has the same validation loss, up to
/// rounding. `valid_loss` trains with the given limit, in a folder of its own.
inline void expect_within_limit(double share, const std::function<double(std::optional<int64_t> limit)>& valid_loss) {
  const int64_t before = memory_stats().live_bytes;
  reset_peak_memory();
  const double loss = valid_loss({});
  const auto used = static_cast<double>(memory_stats().peak_bytes - before);
  const int64_t limit = memory_stats().live_bytes + static_cast<int64_t>(share * used);
  reset_peak_memory();
  EXPECT_NEAR(valid_loss(limit), loss, 1e-4 * loss);
  EXPECT_LE(memory_stats().peak_bytes, limit);
}

}  // namespace tape::train
