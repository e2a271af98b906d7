#pragma once

#include <mutex>
#include <vector>

#include "../../base/non_copyable.h"
#include "../device_checks.h"

namespace tape::cuda_device {

struct Context;

/// The checks of a device whose results the host has not read yet.
class LateChecks : NonCopyable {
 public:
  explicit LateChecks(const Context& context) : context_(context) {}

  /// Keeps a check; waits for the device if too many are kept.
  device_checks::Place add(const ValueCheck& check);
  /// Forgets the checks up to the one with this number, none of which has failed.
  void passed(int64_t number);
  /// In device memory; empty as long as no check has failed.
  kernels::Finding* findings();
  /// Waits for the device. Throws the Error of a check that failed before.
  void wait(const char* what);

 private:
  kernels::Finding* place();

  const Context& context_;
  std::mutex mutex_;
  kernels::Finding* on_device_ = nullptr;
  kernels::Finding* on_host_ = nullptr;  // pinned
  std::vector<ValueCheck> checks_;
  int64_t first_ = 1;  // number of checks_[0]
};

}  // namespace tape::cuda_device
