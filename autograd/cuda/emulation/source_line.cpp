#include "autograd/cuda/emulation/source_line.h"

#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#ifdef TAPE_HAVE_BACKTRACE
#include <backtrace.h>
#endif

namespace tape::cuda_device::emulation {

#ifdef TAPE_HAVE_BACKTRACE
namespace {

void ignore_error(void*, const char*, int) {}

bool is_of_emulation(std::string_view file) {
  for (const std::string_view header :
       {"/emulation/runtime.h", "/emulation/kernel.h", "/emulation/kernel_math.h", "/cuda/kernels/device.h"})
    if (file.ends_with(header)) return true;
  return false;
}

/// Called for an address from the innermost inlined function outwards.
int see_line(void* found, uintptr_t, const char* file, int line, const char*) {
  if (!file || is_of_emulation(file)) return 0;
  *static_cast<SourceLine*>(found) = {file, line};
  return 1;
}

}  // namespace

SourceLine source_line(void* return_address) {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  SourceLine found;
  // The return address may already belong to the next line.
  if (state) backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(return_address) - 1, see_line, ignore_error, &found);
  return found;
}
#else
SourceLine source_line(void*) { return {}; }
#endif

std::string to_string(const SourceLine& place) {
  if (place.file.empty()) return "an unknown line";
  return fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
}

}  // namespace tape::cuda_device::emulation
