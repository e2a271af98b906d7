// The functions that instrumented kernels call before each access to memory, under the names that instrumentation.h
// gives them with g++, and under the sanitizer's names for clang.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "autograd/cuda/emulation/report.h"
#include "autograd/cuda/emulation/shadow.h"

#ifdef __clang__
#define TAPE_HOOK(name) __tsan_##name
#define TAPE_UNDEFINED_HOOK(name) __ubsan_handle_##name
#else
#define TAPE_HOOK(name) tape_emulated_##name
#define TAPE_UNDEFINED_HOOK(name) tape_emulated_##name
#endif

namespace tape::cuda_device::emulation {
namespace {

/// What the compiler passes of a type: "'float [32]'".
struct TypeDescriptor {
  uint16_t kind, info;
  char name[1];
};
/// What it passes of an expression that is undefined.
struct UndefinedExpression {
  const char* file;
  uint32_t line, column;
  const TypeDescriptor* type;
};
struct MismatchedPointer : UndefinedExpression {
  unsigned char log_alignment, kind;
};

void fail_here(FaultKind kind, void* caller, std::function<std::string()> what) {
  report(kind, block_runner().current_index(), caller, std::move(what));
}

}  // namespace
}  // namespace tape::cuda_device::emulation

using tape::cuda_device::emulation::Access;
using tape::cuda_device::emulation::block_runner;
using tape::cuda_device::emulation::fail_here;
using tape::cuda_device::emulation::FaultKind;
using tape::cuda_device::emulation::shadow;

#define TAPE_ACCESS_HOOKS(bytes)                                                 \
  void TAPE_HOOK(read##bytes)(void* address) {                                   \
    shadow().access(address, bytes, Access::read, __builtin_return_address(0));  \
  }                                                                              \
  void TAPE_HOOK(write##bytes)(void* address) {                                  \
    shadow().access(address, bytes, Access::write, __builtin_return_address(0)); \
  }

extern "C" {
TAPE_ACCESS_HOOKS(1)
TAPE_ACCESS_HOOKS(2)
TAPE_ACCESS_HOOKS(4)
TAPE_ACCESS_HOOKS(8)
TAPE_ACCESS_HOOKS(16)
void TAPE_HOOK(read_range)(void* address, size_t bytes) {
  shadow().access(address, bytes, Access::read, __builtin_return_address(0));
}
void TAPE_HOOK(write_range)(void* address, size_t bytes) {
  shadow().access(address, bytes, Access::write, __builtin_return_address(0));
}
#ifdef __clang__
// Functions of the same names without prefix, and accesses that may be unaligned.
void* TAPE_HOOK(memset)(void* to, int value, size_t bytes) {
  shadow().access(to, bytes, Access::write, __builtin_return_address(0));
  return std::memset(to, value, bytes);
}
void* TAPE_HOOK(memcpy)(void* to, const void* from, size_t bytes) {
  shadow().access(const_cast<void*>(from), bytes, Access::read, __builtin_return_address(0));
  shadow().access(to, bytes, Access::write, __builtin_return_address(0));
  return std::memcpy(to, from, bytes);
}
void* TAPE_HOOK(memmove)(void* to, const void* from, size_t bytes) {
  shadow().access(const_cast<void*>(from), bytes, Access::read, __builtin_return_address(0));
  shadow().access(to, bytes, Access::write, __builtin_return_address(0));
  return std::memmove(to, from, bytes);
}
#define TAPE_UNALIGNED_HOOKS(bytes)                                              \
  void TAPE_HOOK(unaligned_read##bytes)(void* address) {                         \
    shadow().access(address, bytes, Access::read, __builtin_return_address(0));  \
  }                                                                              \
  void TAPE_HOOK(unaligned_write##bytes)(void* address) {                        \
    shadow().access(address, bytes, Access::write, __builtin_return_address(0)); \
  }
TAPE_UNALIGNED_HOOKS(2)
TAPE_UNALIGNED_HOOKS(4)
TAPE_UNALIGNED_HOOKS(8)
TAPE_UNALIGNED_HOOKS(16)
#endif
void TAPE_HOOK(init)() {}
void TAPE_HOOK(func_entry)(void*) {}
void TAPE_HOOK(func_exit)() {}
void TAPE_HOOK(vptr_update)(void*, void*) {}

void TAPE_UNDEFINED_HOOK(out_of_bounds)(const tape::cuda_device::emulation::UndefinedExpression* expression,
                                        size_t index) {
  fail_here(FaultKind::out_of_bounds, __builtin_return_address(0), [expression, index] {
    return fmt::format("index {} of an array {}", static_cast<int64_t>(index), expression->type->name);
  });
  block_runner().abandon();
}
void TAPE_UNDEFINED_HOOK(type_mismatch_v1)(const tape::cuda_device::emulation::MismatchedPointer* pointer,
                                           uintptr_t address) {
  const uintptr_t alignment = uintptr_t{1} << pointer->log_alignment;
  if (address && address % alignment == 0) return;
  fail_here(address ? FaultKind::misaligned : FaultKind::out_of_bounds, __builtin_return_address(0), [=] {
    return address ? fmt::format("{:#x} is not a multiple of {}, the alignment of {}", address, alignment,
                                 pointer->type->name)
                   : fmt::format("a null pointer to {}", pointer->type->name);
  });
  block_runner().abandon();
}
void TAPE_UNDEFINED_HOOK(divrem_overflow)(const tape::cuda_device::emulation::UndefinedExpression* expression, size_t,
                                          size_t) {
  fail_here(FaultKind::division_by_zero, __builtin_return_address(0),
            [expression] { return fmt::format("an integer division by zero of {}", expression->type->name); });
  block_runner().abandon();
}
}
