// What the C++ runtime expects and WASI's C library lacks.

// A module's destructors do not run: a page drops its memory.
int __cxa_thread_atexit(void (*destructor)(void*), void* object, void* library) {
  (void)destructor, (void)object, (void)library;
  return 0;
}

// The tag of C++ exceptions: an exception is one pointer.
__asm__(".tagtype __cpp_exception i32\n"
        ".globl __cpp_exception\n"
        "__cpp_exception:\n");
