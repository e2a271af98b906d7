#pragma once

#include <cstdint>
#include <optional>

#include "autograd/cuda/emulation/emulation.h"
#include "base/non_copyable.h"

namespace tape::cuda_device {

/// Whether tests of kernels run on the first GPU (TAPE_TEST_DEVICE=cuda) instead of the emulated device.
bool test_on_gpu();

/// A tolerance for values of the test device compared with the CPU's. On a GPU, multiplications and additions may be
/// fused, tensor cores add in another order and functions are approximations, so more is allowed; 0 remains 0.
double test_tolerance(double on_emulated_device);

/// The device of tests while it exists, with new contexts: the emulated device, or the first GPU if test_on_gpu().
/// Throws Error (device) if there is no GPU.
class TestDevice : NonCopyable {
 public:
  explicit TestDevice(const emulation::EmulatedDeviceOptions& options = {});
  ~TestDevice();

  /// Chooses the order of threads on the emulated device. On a GPU runs differ by themselves.
  void set_schedule(int schedule);
  /// Number of kernels launched, without those of graphs.
  int64_t launches() const;
  /// Number of products by cuBLASLt.
  int64_t products() const;
  /// The emulated device, for tests that a GPU skips.
  const emulation::EmulatedDevice& emulated() const { return *emulated_; }

 private:
  std::optional<emulation::EmulatedDevice> emulated_;
};

}  // namespace tape::cuda_device
