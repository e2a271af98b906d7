#pragma once

#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "../../base/non_copyable.h"
#include "../device_checks.h"

namespace tape::cuda_device {

struct Context;

/// The checks of a device whose results the host has not read yet. Threads may check and wait at the same time: a check
/// is only forgotten by a thread that knows its kernel to have run.
class LateChecks : NonCopyable {
 public:
  explicit LateChecks(const Context& context) : context_(context) {}

  /// Keeps a check, whose kernel this thread launches next; waits for the device if too many are kept.
  device_checks::Place add(const ValueCheck& check);
  /// This thread has launched that kernel.
  void launched();
  /// Forgets the check with this number and those launched before it was added, none of which has failed.
  void passed(int64_t number);
  /// In device memory; empty as long as no check has failed.
  kernels::Finding* findings();
  /// Waits for the device. Throws the Error of the first check of any thread that failed since the last throw; the
  /// device records no others until then.
  void wait(const char* what);

 private:
  struct Check {
    int64_t number;
    std::thread::id thread;
    int64_t launches_before;  // launches_ when it was added
    int64_t launch = 0;       // which of launches_ is its own; 0 until then
    ValueCheck check;
  };
  using Checks = std::vector<Check>;

  kernels::Finding* place();
  void count_launches_of_this_thread();
  template <class Ran>
  Checks take_launched(const Ran& ran);

  const Context& context_;
  std::mutex mutex_;
  kernels::Finding* on_device_ = nullptr;
  kernels::Finding* on_host_ = nullptr;  // pinned
  Checks checks_;                        // by number
  int64_t added_ = 0, launches_ = 0, not_launched_ = 0;
};

}  // namespace tape::cuda_device
