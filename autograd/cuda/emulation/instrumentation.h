#pragma once

// Kernels are compiled with -fsanitize=thread,bounds,alignment,integer-divide-by-zero, which calls functions before
// each access to memory and for what is undefined. The emulated device has its own, and with g++ under other names than
// the sanitizers', so that a program can use both.

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
#if defined(__GNUC__) && !defined(__clang__)
extern "C" void __ubsan_handle_out_of_bounds(void*, void*) __asm__("tape_emulated_out_of_bounds");
extern "C" void __ubsan_handle_type_mismatch_v1(void*, void*) __asm__("tape_emulated_type_mismatch_v1");
extern "C" void __ubsan_handle_divrem_overflow(void*, void*, void*) __asm__("tape_emulated_divrem_overflow");
#endif
