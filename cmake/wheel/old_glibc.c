// What Debian 12's libstdc++.a refers to and glibc 2.27 lacks.
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

// glibc 2.32. false: reference counts are atomic, as a program that may start threads needs.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// glibc 2.36; std::random_device.
__attribute__((visibility("hidden"))) uint32_t arc4random(void) {
  uint32_t value;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();
  return value;
}
