#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

#include <gtest/gtest.h>

namespace tape {

/// Returns the CPU seconds of this thread that a call takes, the minimum of three runs, so that other load on the
/// machine matters little.
template <class Call>
double processor_seconds(Call&& call) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 3; ++run) {
    const double began = now();
    call();
    least = std::min(least, now() - began);
  }
  return least;
}

/// Checks that `work(size)` takes O(n log n) steps: for four times the size, n log n takes 4 to 5 times as long, n² 16
/// times. Choose sizes at which quadratic work takes seconds.
template <class Work>
void expect_almost_linear(size_t size, Work&& work) {
#if defined(__SANITIZE_ADDRESS__)
  // The sanitizer quarantines freed memory at a more than proportional cost, so times are meaningless.
  work(4 * size);
#else
  double small = 0, large = 0;
  // A single slow run may be due to other load; quadratic work is slow every time.
  for (int attempt = 0; attempt < 3; ++attempt) {
    small = processor_seconds([&] { work(size); });
    large = processor_seconds([&] { work(4 * size); });
    if (large < 9 * std::max(small, 1e-4)) return;
  }
  ADD_FAILURE() << "sizes " << size << " and " << 4 * size << ": " << small << " s and " << large << " s";
#endif
}

}  // namespace tape
