#include "autograd/cuda/blas.h"

#include <mutex>

#include <fmt/format.h>

#include "autograd/cuda/driver.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

/// The functions in use and whether they can be used.
struct InstalledBlas {
  std::mutex mutex;
  const Blas* installed = nullptr;  // of install_blas()
  uint32_t installs = 0;
  uint32_t checked = 0;  // generation for which the rest is valid
  const Blas* table = nullptr;
  std::string reason;
};

InstalledBlas& installed() {
  static auto* state = new InstalledBlas;  // tensors may be freed at any time during exit
  return *state;
}

uint32_t generation_of(const InstalledBlas& state) { return driver_generation() + state.installs; }

void find_table(InstalledBlas& state) {
  state.reason.clear();
  state.table = nullptr;
  if (const auto reason = unavailable()) {
    state.reason = *reason;
  } else if (state.installed) {
    state.table = state.installed;
  } else if (std::string none; &driver() != load_nvidia_driver(none)) {
    state.reason = "the driver in use is not NVIDIA's and has no cuBLASLt";
  } else {
    state.table = load_nvidia_blas(state.reason);
  }
}

/// The table, or null and the reason.
const Blas* table_in_use(std::string& reason) {
  InstalledBlas& state = installed();
  const std::lock_guard lock(state.mutex);
  if (const uint32_t generation = generation_of(state); state.checked != generation) {
    find_table(state);
    state.checked = generation;
  }
  reason = state.reason;
  return state.table;
}

}  // namespace

std::optional<std::string> blas_unavailable() {
  std::string reason;
  return table_in_use(reason) ? std::nullopt : std::optional(reason);
}

const Blas& blas() {
  std::string reason;
  const Blas* const table = table_in_use(reason);
  if (!table) raise(ErrorKind::device, "cuda: {}", reason);
  return *table;
}

int64_t blas_version() {
  std::string reason;
  const Blas* const table = table_in_use(reason);
  return table ? static_cast<int64_t>(table->get_version()) : 0;
}

void install_blas(const Blas* table) {
  InstalledBlas& state = installed();
  const std::lock_guard lock(state.mutex);
  state.installed = table;
  ++state.installs;
}

uint32_t blas_generation() {
  InstalledBlas& state = installed();
  const std::lock_guard lock(state.mutex);
  return generation_of(state);
}

std::string blas_status_text(const Blas& table, BlasStatus status) {
  const char* const name = table.get_status_name(status);
  return fmt::format("{} ({})", name ? name : "unknown", status);
}

}  // namespace tape::cuda_device
