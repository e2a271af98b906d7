#pragma once

#include <algorithm>
#include <ctime>
#include <limits>

#include <gtest/gtest.h>

namespace tape {

/// Seconds of this thread's processor time that a call takes, the least of three: what else runs on the machine counts
/// little.
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

/// Expects `work(size)` to take at most some n log n steps: of four times the size n log n needs 4 to 5 times as long,
/// n² 16 times. Sizes are such that quadratic work takes seconds.
template <class Work>
void expect_almost_linear(size_t size, Work&& work) {
#if defined(__SANITIZE_ADDRESS__)
  // Freed memory is kept from use, and more of it costs more than in proportion: times are not the program's own.
  work(4 * size);
#else
  double small = 0, large = 0;
  // Once too long may be the machine's doing; what is quadratic takes too long every time.
  for (int attempt = 0; attempt < 3; ++attempt) {
    small = processor_seconds([&] { work(size); });
    large = processor_seconds([&] { work(4 * size); });
    if (large < 9 * std::max(small, 1e-4)) return;
  }
  ADD_FAILURE() << "sizes " << size << " and " << 4 * size << ": " << small << " s and " << large << " s";
#endif
}

}  // namespace tape
