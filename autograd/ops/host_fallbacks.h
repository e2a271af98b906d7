#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "../../base/device.h"

namespace tape {

/// How often each operation had no kernel on a GPU and was computed on the host since the process started, by name.
std::map<std::string, int64_t> host_fallbacks();

/// Counts one. Throws Error (device) if the environment variable TAPE_CUDA_FALLBACK is `error`.
void count_host_fallback(const char* operation, Device device);

}  // namespace tape
