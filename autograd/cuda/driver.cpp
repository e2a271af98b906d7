#include "autograd/cuda/driver.h"

#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "autograd/cuda/context.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

constexpr int kOldestDriver = 12000;   // minor versions of CUDA 12 and later load each other's kernels
constexpr int kOldestCapability = 80;  // Ampere: bf16, asynchronous copies

/// The driver in use and whether a device can be used with it.
struct InstalledDriver {
  std::mutex mutex;
  const Driver* table = nullptr;  // null before the first use of the NVIDIA driver, or if it cannot be loaded
  bool checked = false;
  std::optional<std::string> reason;
  int devices = 0;
  int version = 0;
};

InstalledDriver& installed() {
  static auto* state = new InstalledDriver;  // tensors may be freed at any time during exit
  return *state;
}

std::atomic<uint32_t> generation_of_driver{1};

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Why the device with this index cannot run the kernels, or "".
std::string unsuitable(const Driver& table, int index) {
  int device = 0, major = 0, minor = 0, virtual_memory = 0;
  char name[256] = {};
  if (table.device_get(&device, index) || table.device_get_name(name, sizeof name, device) ||
      table.device_get_attribute(&major, attribute::capability_major, device) ||
      table.device_get_attribute(&minor, attribute::capability_minor, device) ||
      table.device_get_attribute(&virtual_memory, attribute::virtual_memory, device))
    return fmt::format("device {} does not respond", index);
  if (major * 10 + minor < kOldestCapability)
    return fmt::format("{} has compute capability {}.{}; the kernels need 8.0 (Ampere) or newer", name, major, minor);
  if (!virtual_memory) return fmt::format("{} has no virtual memory management", name);
  return "";
}

/// Why no device can be used, or nullopt. Sets the number of devices and the driver's version.
std::optional<std::string> find_devices(InstalledDriver& state) {
  const Driver& table = *state.table;
  const Result initialized = table.init(0);
  if (initialized == result::no_device) return "the NVIDIA driver finds no device";
  if (initialized) return fmt::format("the NVIDIA driver cannot be initialized: {}", error_text(table, initialized));
  if (table.driver_get_version(&state.version)) state.version = 0;
  if (state.version < kOldestDriver)
    return fmt::format("the NVIDIA driver supports CUDA {}, at least {} is needed: update the driver",
                       version_text(state.version), version_text(kOldestDriver));
  int count = 0;
  if (table.device_get_count(&count) || count == 0) return "the NVIDIA driver finds no device";
  std::string reasons;
  for (int index = 0; index < count; ++index) {
    const std::string reason = unsuitable(table, index);
    if (!reason.empty()) reasons += (reasons.empty() ? "" : "; ") + reason;
    // Devices are numbered as the driver does, so one that is too old is refused only when it is used.
    if (reason.empty()) state.devices = count;
  }
  return state.devices ? std::nullopt : std::optional(reasons);
}

void check_installed(InstalledDriver& state) {
  if (state.checked) return;
  std::string reason;
  if (!state.table) state.table = load_nvidia_driver(reason);
  state.reason = state.table ? find_devices(state) : std::optional(reason);
  state.checked = true;
}

}  // namespace

const Driver& driver() {
  InstalledDriver& state = installed();
  const std::lock_guard lock(state.mutex);
  check_installed(state);
  if (state.reason) raise(ErrorKind::device, "cuda: {}", *state.reason);
  return *state.table;
}

std::optional<std::string> unavailable() {
  InstalledDriver& state = installed();
  const std::lock_guard lock(state.mutex);
  check_installed(state);
  return state.reason;
}

void install(const Driver* table) {
  forget_contexts();
  InstalledDriver& state = installed();
  const std::lock_guard lock(state.mutex);
  state.table = table;
  state.checked = false;
  state.reason.reset();
  state.devices = state.version = 0;
  ++generation_of_driver;
}

uint32_t driver_generation() { return generation_of_driver.load(std::memory_order_acquire); }

int device_count() {
  if (unavailable()) return 0;
  InstalledDriver& state = installed();
  const std::lock_guard lock(state.mutex);
  return state.devices;
}

int driver_version() {
  if (unavailable()) return 0;
  InstalledDriver& state = installed();
  const std::lock_guard lock(state.mutex);
  return state.version;
}

std::string unsuitable_device(int index) { return unsuitable(driver(), index); }

}  // namespace tape::cuda_device
