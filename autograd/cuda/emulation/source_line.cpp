#include "autograd/cuda/emulation/source_line.h"

#include <cxxabi.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
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
       {"/emulation/runtime.h", "/emulation/kernel.h", "/emulation/kernel_math.h", "/cuda/kernels/device.h",
        "/cuda/kernels/async_copy.h", "/cuda/kernels/matrix.h"})
    if (file.ends_with(header)) return true;
  return false;
}

/// "values" for a variable of a function, from the end of "(anonymous namespace)::reverse(float*)::values".
std::string demangled_variable(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  std::string variable = text ? text.get() : name;
  if (const size_t scope = variable.rfind("::"); scope != std::string::npos) variable.erase(0, scope + 2);
  return variable;
}

/// Called for an address from the innermost inlined function outwards.
int see_line(void* found, uintptr_t, const char* file, int line, const char*) {
  if (!file || is_of_emulation(file)) return 0;
  *static_cast<SourceLine*>(found) = {file, line};
  return 1;
}

void see_variable(void* found, uintptr_t, const char* name, uintptr_t address, uintptr_t bytes) {
  if (name) *static_cast<Variable*>(found) = {demangled_variable(name), reinterpret_cast<char*>(address), bytes};
}

backtrace_state* debug_information() {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, ignore_error, nullptr);
  return state;
}

}  // namespace

SourceLine source_line(void* return_address) {
  SourceLine found;
  // The return address may already belong to the next line.
  if (backtrace_state* const state = debug_information())
    backtrace_pcinfo(state, reinterpret_cast<uintptr_t>(return_address) - 1, see_line, ignore_error, &found);
  return found;
}

Variable find_variable(const void* address) {
  Variable found;
  if (backtrace_state* const state = debug_information())
    backtrace_syminfo(state, reinterpret_cast<uintptr_t>(address), see_variable, ignore_error, &found);
  return found;
}
#else
SourceLine source_line(void*) { return {}; }
Variable find_variable(const void*) { return {}; }
#endif

bool has_variables(const void* code) { return !find_variable(code).name.empty(); }

std::string to_string(const SourceLine& place) {
  if (place.file.empty()) return "an unknown line";
  return fmt::format("{}:{}", place.file.substr(place.file.rfind('/') + 1), place.line);
}

}  // namespace tape::cuda_device::emulation
