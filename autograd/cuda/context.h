#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../base/non_copyable.h"
#include "driver.h"

namespace tape::cuda_device {

class BlasContext;
class LateChecks;
class MemoryPool;
class Module;
class SharedMemoryLimits;
class WorkCollector;

/// What is known of a device without using it.
struct DeviceProperties {
  int device = 0;            ///< the driver's handle
  std::string name;          ///< such as "NVIDIA H100 80GB HBM3"
  int capability = 0;        ///< compute capability, such as 90 for 9.0
  int multiprocessors = 0;   ///< number of streaming multiprocessors
  int64_t total_memory = 0;  ///< bytes of device memory
};
/// Creates no context, which takes some hundred MB of the device. Throws Error (device) if it does not respond.
DeviceProperties device_properties(int index);

/// The primary context of a device and its one stream: everything on a device happens in the order of the calls.
struct Context : NonCopyable, DeviceProperties {
  ~Context();

  const Driver* driver = nullptr;  ///< the driver that it belongs to
  int index = 0;                   ///< of the device
  void* handle = nullptr;          ///< the driver's context
  void* stream = nullptr;          ///< the driver's stream
  void* capture_stream = nullptr;  ///< a stream for products that become nodes of graphs; null without a collector
  int64_t shared_memory = 0;       ///< bytes of shared memory that a block can have at most
  bool caching = true;             ///< whether freed memory is kept (not with TAPE_CUDA_NO_MEMORY_CACHING=1)
  bool blocking = false;           ///< whether each launch waits for its kernel (TAPE_CUDA_BLOCKING=1)

  std::unique_ptr<MemoryPool> memory;                 ///< allocator of its memory
  std::unique_ptr<LateChecks> checks;                 ///< checks of values on the device
  std::unique_ptr<SharedMemoryLimits> shared_limits;  ///< of the kernels that were launched
  std::unique_ptr<WorkCollector> collector;           ///< of launches for graphs (TAPE_CUDA_GRAPHS=1), or null
  std::unique_ptr<BlasContext> blas;                  ///< cuBLASLt, once a product has used it; frees memory at its end
  std::vector<std::pair<const Module*, void*>> loaded;  ///< modules of kernels and the driver's handles
};

/// Most devices of a process; those with a higher number cannot be used.
inline constexpr int kMostDevices = 16;

/// The context of this thread's current device, created on first use and made current on this thread. Throws Error
/// (device) if driver() does or if the device cannot be used.
Context& context();

/// Index of the device that this thread uses, initially 0.
int current_device();

/// Uses another device on this thread while in scope. Throws Error (device) if there is none with this index.
class UseDevice : NonCopyable {
 public:
  explicit UseDevice(int index);
  ~UseDevice();

 private:
  int before_;
};

/// Waits until everything on the current device is done. Throws Error (device) if a kernel failed, and what a check of
/// values (device_checks.h) found.
void synchronize();
/// The same for a call that is named in errors, `what`.
void wait(const char* what);
/// How often the host has waited for a device.
int64_t waits();

/// Throws Error (device) unless `result` is success: "cuda: WHAT: invalid argument (CUDA_ERROR_INVALID_VALUE)". For an
/// error of an earlier kernel the message explains how to find that kernel, for a lost device what to do.
void check(Result result, const char* what);

/// Whether a result is the failure of a kernel: the context cannot be used after it.
bool is_kernel_failure(Result result);

/// "invalid argument (CUDA_ERROR_INVALID_VALUE)".
std::string error_text(const Driver& table, Result result);

/// Forgets all contexts, because another driver will be used.
void forget_contexts();

/// Indices of the devices that have a context.
std::vector<int> indices_of_contexts();

/// The memory pool that an address belongs to, or null, for example if its driver is no longer in use.
MemoryPool* pool_of(const void* address);

/// Why the device with this index cannot run the kernels, or "".
std::string unsuitable_device(int index);

}  // namespace tape::cuda_device
