#pragma once

// Kernels are compiled with -fsanitize=thread, which calls a function before each access to memory. The emulated device
// has its own functions for it, and with g++ under other names than the sanitizer's, so that a program can use both.

/// Marks a function whose accesses to memory are the emulated device's own.
#define TAPE_NOT_INSTRUMENTED __attribute__((no_sanitize("thread", "undefined")))

#if defined(__SANITIZE_THREAD__) && !defined(__clang__)
// The names by which the compiler calls the functions.
#define TAPE_RENAME(name) extern "C" void __tsan_##name(void*) __asm__("tape_emulated_" #name)
TAPE_RENAME(read1);
TAPE_RENAME(read2);
TAPE_RENAME(read4);
TAPE_RENAME(read8);
TAPE_RENAME(read16);
TAPE_RENAME(write1);
TAPE_RENAME(write2);
TAPE_RENAME(write4);
TAPE_RENAME(write8);
TAPE_RENAME(write16);
TAPE_RENAME(func_entry);
#undef TAPE_RENAME
extern "C" void __tsan_init() __asm__("tape_emulated_init");
extern "C" void __tsan_func_exit(void*) __asm__("tape_emulated_func_exit");
extern "C" void __tsan_vptr_update(void*, void*) __asm__("tape_emulated_vptr_update");
extern "C" void __tsan_read_range(void*, __PTRDIFF_TYPE__) __asm__("tape_emulated_read_range");
extern "C" void __tsan_write_range(void*, __PTRDIFF_TYPE__) __asm__("tape_emulated_write_range");
#endif
