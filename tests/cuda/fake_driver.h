#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/cuda/driver.h"
#include "base/non_copyable.h"

namespace tape::cuda_device {

/// A driver in use while it exists, whose answers a test sets. Its memory has addresses but no contents.
class FakeDriver : NonCopyable {
 public:
  FakeDriver();
  ~FakeDriver();

  struct Device {
    std::string name = "NVIDIA Fake";
    int capability = 90;
    bool virtual_memory = true;
  };

  int version = 13000;
  std::vector<Device> devices{1};
  Result init = 0;
  Result retain = 0;       // of a device's context
  Result load = 0;         // of a module
  Result launch = 0;       // of a kernel
  Result synchronize = 0;  // of a stream
  int64_t total_memory = int64_t{1} << 30;
  int64_t used_memory = 0;
  int loads_without_memory = 0;                    // of modules, which fail first
  int launches_without_memory = 0;                 // of kernels, which fail first
  int mapped = 0, unmapped = 0, synchronized = 0;  // numbers of calls
  std::vector<int64_t> allocated;                  // bytes of each allocation of the driver, 0 once it is freed
  std::vector<std::string> functions;              // that modules contain

  static constexpr int64_t kPage = 2 << 20;  // granularity of memory
};

}  // namespace tape::cuda_device
