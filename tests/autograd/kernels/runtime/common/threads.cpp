#include "autograd/kernels/runtime/common/threads.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tape::kernels {
namespace {

class Threads : public ::testing::Test {
 protected:
  ~Threads() override { set_num_threads(before_); }

 private:
  int before_ = num_threads();
};

/// How often each task ran.
std::vector<int> runs_of(int64_t tasks) {
  std::vector<std::atomic<int>> runs(static_cast<size_t>(tasks));
  run_tasks(tasks, [&](int64_t task) { ++runs[static_cast<size_t>(task)]; });
  return {runs.begin(), runs.end()};
}

TEST_F(Threads, RunEachTaskOnce) {
  for (const int threads : {1, 2, 3, 8})
    for (const int64_t tasks : {0, 1, 2, 7, 1000}) {
      set_num_threads(threads);
      EXPECT_EQ(runs_of(tasks), std::vector<int>(static_cast<size_t>(tasks), 1)) << threads << " threads";
    }
}

TEST_F(Threads, RunEachTaskOnceInEveryJob) {
  set_num_threads(4);
  for (int job = 0; job < 20'000; ++job) {
    int64_t sum[5] = {};
    run_tasks(5, [&](int64_t task) { sum[task] += task + 1; });
    ASSERT_EQ(sum[0] + sum[1] + sum[2] + sum[3] + sum[4], 15) << job;
  }
}

TEST_F(Threads, ShareTheTasks) {
  set_num_threads(2);
  // Each waits for the other, so one thread could not finish both.
  std::atomic<int> begun{0};
  run_tasks(2, [&](int64_t) {
    ++begun;
    while (begun < 2) std::this_thread::yield();
  });
  EXPECT_EQ(begun, 2);
}

TEST_F(Threads, RunNestedTasksOnTheCallingThread) {
  set_num_threads(4);
  EXPECT_FALSE(in_task());
  std::atomic<int> inner{0}, elsewhere{0};
  run_tasks(8, [&](int64_t) {
    const auto self = std::this_thread::get_id();
    EXPECT_TRUE(in_task());
    run_tasks(8, [&](int64_t) {
      ++inner;
      elsewhere += std::this_thread::get_id() != self;
    });
  });
  EXPECT_FALSE(in_task());
  EXPECT_EQ(inner, 64);
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(Threads, ServeSeveralCallersAtOnce) {
  set_num_threads(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i)
    callers.emplace_back([&] {
      for (int job = 0; job < 500; ++job) wrong += runs_of(9) != std::vector<int>(9, 1);
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Threads, RethrowTheExceptionOfATask) {
  for (const int threads : {1, 4}) {
    set_num_threads(threads);
    for (int64_t bad = 0; bad < 16; ++bad)
      EXPECT_THROW(run_tasks(16,
                             [&](int64_t task) {
                               if (task == bad) throw std::runtime_error("task");
                             }),
                   std::runtime_error)
          << threads << " threads, task " << bad;
    EXPECT_FALSE(in_task());
    EXPECT_EQ(runs_of(16), std::vector<int>(16, 1));
  }
}

TEST_F(Threads, WakeUpAfterSleeping) {
  set_num_threads(2);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(runs_of(64), std::vector<int>(64, 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // longer than they spin
  }
}

TEST_F(Threads, WorkInAForkedChild) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "under ThreadSanitizer, a forked child of a threaded process cannot start threads";
#endif
  set_num_threads(2);
  runs_of(4);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(runs_of(100) == std::vector<int>(100, 1) ? 0 : 1);
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(Threads, NumberAtLeastOne) {
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
  set_num_threads(5);
  EXPECT_EQ(num_threads(), 5);
}
}  // namespace
}  // namespace tape::kernels
