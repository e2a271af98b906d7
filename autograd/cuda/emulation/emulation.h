#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "../../../base/non_copyable.h"
#include "fault.h"

namespace tape::cuda_device::emulation {

/// When an emulated device does what it is asked for.
enum class Execution : uint8_t {
  immediate,  ///< during the call, so that the stack of a fault is that of the launch
  deferred,   ///< when the host waits for it, as late as a real device could
};

/// Options of an emulated device.
struct EmulatedDeviceOptions {
  int64_t memory = int64_t{8} << 30;          ///< bytes of device memory
  Execution execution = Execution::deferred;  ///< of kernels, fills and copies
  bool blas = true;                           ///< whether cuBLASLt is there
};

/// A CUDA device that this CPU emulates, used instead of a GPU while it exists, for tests of kernels.
///
/// Kernels that g++ or clang compiled (tapeformer_cuda_kernels() of CMake) run with the semantics of CUDA: threads,
/// blocks, shared memory, barriers, shuffles, atomics. The device reports what a GPU does not: races between threads,
/// missing and divergent barriers, accesses out of bounds, to unwritten memory or with host pointers. The host cannot
/// access device memory: the program ends with a message. Products by cuBLASLt are computed by the CPU, with the same
/// checks of memory.
///
/// Kernels, products, fills and copies run when something waits for them: a copy to the host, synchronize() or an
/// event. A host that counts on an earlier end, such as one that changes pinned memory before it was copied, gets wrong
/// values. A fault is thrown from the call that waits as Error (device) with the kernel, the line, the block, the
/// thread and the operation that launched it; with TAPE_CUDA_BLOCKING=1 that call is the launch. What was asked for
/// after the faulty kernel is dropped.
///
/// Not found are races through memory fences, or limits of a real device's registers. Functions such as __expf are
/// exact, and sums of atomicAdd have a fixed order. One can exist at a time, and launches are serialized.
class EmulatedDevice : NonCopyable {
 public:
  explicit EmulatedDevice(const EmulatedDeviceOptions& options = {});
  ~EmulatedDevice();

  /// Chooses the order in which threads run, 0 to 2: 0 runs each thread up to the next barrier in turn, 1 and 2 run one
  /// warp as far as possible, the first or the last one first. The order of the blocks differs too.
  void set_schedule(int schedule);
  /// The last fault that was thrown, or nullopt.
  const std::optional<Fault>& last_fault() const;
  /// Number of kernels launched.
  int64_t launches() const;
  /// Number of products by cuBLASLt.
  int64_t products() const;
};

}  // namespace tape::cuda_device::emulation
