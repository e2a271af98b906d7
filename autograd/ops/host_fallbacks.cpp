#include "autograd/ops/host_fallbacks.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/error.h"

namespace tape {
namespace {

std::mutex mutex;

std::map<std::string, int64_t>& counts() {
  static auto* const all = new std::map<std::string, int64_t>;  // never destroyed: used until the process ends
  return *all;
}

}  // namespace

std::map<std::string, int64_t> host_fallbacks() {
  const std::lock_guard lock(mutex);
  return counts();
}

void count_host_fallback(const char* operation, Device device) {
  const char* const policy = std::getenv("TAPE_CUDA_FALLBACK");
  if (policy && std::strcmp(policy, "error") == 0)
    raise(ErrorKind::device, "{}: {} has no kernel for it, and TAPE_CUDA_FALLBACK=error forbids the host's", operation,
          to_string(device));
  const std::lock_guard lock(mutex);
  ++counts()[operation];
}

}  // namespace tape
