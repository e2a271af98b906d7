#include "autograd/kernels/runtime/common/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace tape::kernels {
namespace {

// Waiting threads first spin, because work arrives within microseconds during training, then yield the core to a thread
// that this one may be waiting for, and finally sleep.
constexpr int kPauses = 2000, kYields = 100;
constexpr int kMostThreads = 1024;

thread_local bool inside = false;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

int default_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS"))
    if (const long asked = std::strtol(text, nullptr, 10); asked > 0)
      return static_cast<int>(std::min<long>(asked, kMostThreads));
  cpu_set_t cpus;
  if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0) return std::max(1, CPU_COUNT(&cpus));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

std::atomic<int>& threads_set() {
  static std::atomic<int> threads{default_threads()};
  return threads;
}

/// The tasks that one thread starts with; other threads steal from them when they run out of their own.
struct alignas(64) Share {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

/// Blocks all signals for threads started in its scope, so that other threads handle them.
class BlockSignals {
 public:
  BlockSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t before_;
};

/// Thread pool. A job is one call of run_tasks(); one runs at a time.
class Pool {
 public:
  /// Returns false if another thread's job is running.
  bool run(int64_t tasks, int threads, const void* context, Task task) {
    const std::unique_lock<std::mutex> owner(owner_, std::try_to_lock);
    if (!owner.owns_lock()) return false;
    threads_ = 1 + start_helpers(static_cast<int>(std::min<int64_t>(threads, tasks)) - 1);
    context_ = context;
    task_ = task;
    failure_ = nullptr;
    failed_.store(false, std::memory_order_relaxed);
    for (int i = 0; i < threads_; ++i) {
      Share& share = shares_[static_cast<size_t>(i)];
      share.next.store(tasks * i / threads_, std::memory_order_relaxed);
      share.end = tasks * (i + 1) / threads_;
    }
    // 0 means no job.
    number_ = number_ + 1 == 0 ? 1 : number_ + 1;
    open_.store(number_);
    announced_.store(number_);
    if (asleep_.load() > 0) announced_.notify_all();
    work(0);
    // Threads that have entered may still run a task; others find the job closed.
    open_.store(0);
    for (int waited = 0; entered_.load() != 0; ++waited) waited < kPauses ? pause() : static_cast<void>(sched_yield());
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  /// Starts up to `wanted` threads; if the system refuses some, the others do their work.
  int start_helpers(int wanted) {
    if (wanted <= helpers_) return wanted;
    if (start_failed_) return helpers_;
    try {
      // No thread reads the shares now: the last job is closed and this one is not open yet.
      shares_ = std::make_unique<Share[]>(static_cast<size_t>(wanted) + 1);
      const BlockSignals no_signals;
      while (helpers_ < wanted) {
        std::thread([this, place = helpers_ + 1, seen = announced_.load()] { help(place, seen); }).detach();
        ++helpers_;
      }
    } catch (const std::system_error&) {
      start_failed_ = true;
    } catch (const std::bad_alloc&) {  // retried at the next job
    }
    return helpers_;
  }

  [[noreturn]] void help(int place, uint32_t seen) {
    for (;;) {
      seen = next_job(seen);
      // Entering and closing are sequentially consistent: either this thread finds the job closed, or the owner sees
      // this thread inside.
      entered_.fetch_add(1);
      if (open_.load() == seen && place < threads_) work(place);
      entered_.fetch_sub(1);
    }
  }

  uint32_t next_job(uint32_t seen) {
    for (int waited = 0; waited < kPauses + kYields; ++waited) {
      if (const uint32_t now = announced_.load(); now != seen) return now;
      waited < kPauses ? pause() : static_cast<void>(sched_yield());
    }
    asleep_.fetch_add(1);
    announced_.wait(seen);
    asleep_.fetch_sub(1);
    return announced_.load();
  }

  /// Runs the tasks of the thread's own share, then steals from the others.
  void work(int place) {
    inside = true;
    try {
      for (int i = 0; i < threads_; ++i) {
        Share& share = shares_[static_cast<size_t>((place + i) % threads_)];
        // Read before writing, so that threads polling an empty share do not contend for its cache line.
        while (share.next.load(std::memory_order_relaxed) < share.end && !failed_.load(std::memory_order_relaxed)) {
          const int64_t task = share.next.fetch_add(1, std::memory_order_relaxed);
          if (task < share.end) task_(context_, task);
        }
      }
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
    }
    inside = false;
  }

  std::mutex owner_;
  int helpers_ = 0;
  bool start_failed_ = false;  // whether the system refused to start a thread
  // The job: written by its owner before it is opened, read by threads that have entered.
  int threads_ = 1;
  const void* context_ = nullptr;
  Task task_ = nullptr;
  std::unique_ptr<Share[]> shares_ = std::make_unique<Share[]>(1);
  uint32_t number_ = 0;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};

  alignas(64) std::atomic<uint32_t> announced_{0};  // id of the latest job
  alignas(64) std::atomic<uint32_t> open_{0};       // id of the job that may be entered, or 0
  alignas(64) std::atomic<int> entered_{0};
  alignas(64) std::atomic<int> asleep_{0};
};

/// Never destroyed, because its threads wait until the process exits.
Pool& pool() {
  static std::atomic<Pool*> current;
  // A child of fork() has none of the threads and starts a new pool.
  static const int at_fork = pthread_atfork(nullptr, nullptr, [] { current.store(nullptr); });
  static_cast<void>(at_fork);
  Pool* found = current.load();
  if (found) return *found;
  auto made = std::make_unique<Pool>();
  return current.compare_exchange_strong(found, made.get()) ? *made.release() : *found;
}
}  // namespace

int num_threads() { return threads_set().load(std::memory_order_relaxed); }

void set_num_threads(int threads) {
  threads_set().store(std::clamp(threads, 1, kMostThreads), std::memory_order_relaxed);
}

bool in_task() { return inside; }

void run_tasks(int64_t tasks, const void* context, Task task) {
  const int threads = num_threads();
  if (tasks > 1 && threads > 1 && !inside && pool().run(tasks, threads, context, task)) return;
  for (int64_t i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace tape::kernels
