// The functions that instrumented kernels call before each access to memory, under the names that instrumentation.h
// gives them with g++, and under the sanitizer's names for clang.
#include <cstddef>

#include "autograd/cuda/emulation/shadow.h"

#ifdef __clang__
#define TAPE_HOOK(name) __tsan_##name
#else
#define TAPE_HOOK(name) tape_emulated_##name
#endif
#define TAPE_ACCESS_HOOKS(bytes)                                                                               \
  __attribute__((visibility("default"))) void TAPE_HOOK(read##bytes)(void* address) {                          \
    tape::cuda_device::emulation::shadow().access(address, bytes, tape::cuda_device::emulation::Access::read,  \
                                                  __builtin_return_address(0));                                \
  }                                                                                                            \
  __attribute__((visibility("default"))) void TAPE_HOOK(write##bytes)(void* address) {                         \
    tape::cuda_device::emulation::shadow().access(address, bytes, tape::cuda_device::emulation::Access::write, \
                                                  __builtin_return_address(0));                                \
  }

extern "C" {
TAPE_ACCESS_HOOKS(1)
TAPE_ACCESS_HOOKS(2)
TAPE_ACCESS_HOOKS(4)
TAPE_ACCESS_HOOKS(8)
TAPE_ACCESS_HOOKS(16)
void TAPE_HOOK(read_range)(void* address, size_t bytes) {
  tape::cuda_device::emulation::shadow().access(address, bytes, tape::cuda_device::emulation::Access::read,
                                                __builtin_return_address(0));
}
void TAPE_HOOK(write_range)(void* address, size_t bytes) {
  tape::cuda_device::emulation::shadow().access(address, bytes, tape::cuda_device::emulation::Access::write,
                                                __builtin_return_address(0));
}
void TAPE_HOOK(init)() {}
void TAPE_HOOK(func_entry)(void*) {}
void TAPE_HOOK(func_exit)() {}
void TAPE_HOOK(vptr_update)(void*, void*) {}
}
