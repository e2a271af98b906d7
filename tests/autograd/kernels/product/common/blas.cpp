#include "autograd/kernels/product/common/blas.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/kernels/runtime/common/threads.h"
#include "base/error.h"

namespace tape::kernels::testing {
namespace {

constexpr int kMore = 3;

/// Occupies OpenBLAS on `threads` threads at once, with `megabytes` of memory beyond what the process has. Returns how
/// many threads got an out-of-memory error.
int refused_of(int threads, rlim_t megabytes) {
  std::latch ready(threads), go(1), decided(threads);
  std::atomic<int> refused = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([&] {
      ready.count_down();
      go.wait();
      try {
        const SingleThreadedBlas inside;
        decided.arrive_and_wait();
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::out_of_memory) ++refused;
        decided.count_down();
      }
    });
  ready.wait();
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t most = pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE)) + (megabytes << 20);
  const rlimit limit{most, most};
  setrlimit(RLIMIT_AS, &limit);
  go.count_down();
  for (std::thread& thread : all) thread.join();
  return refused;
}

/// OpenBLAS alone would retry the allocation forever.
TEST(Blas, ReportsThreadsItHasNoWorkingMemoryFor) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers reserve terabytes of address space";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto loaded = [] {
    alarm(60);
    const float one = 1;
    float product = 0;
    blas_gemm({.m = 1, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1}, &one, &one, &product);
    return product == 1;
  };
  EXPECT_EXIT(_exit(loaded() ? refused_of(num_threads() + kMore, 100) : 100), ::testing::ExitedWithCode(kMore), "");
  EXPECT_EXIT(_exit(loaded() ? refused_of(num_threads() + kMore, 4000) : 100), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tape::kernels::testing
