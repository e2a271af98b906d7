// Lets std::filesystem compile: WASI cannot copy files, and the engine never does.
#pragma once
#include <errno.h>
#include <stddef.h>
#include <sys/types.h>

static inline ssize_t copy_file_range(int from, off_t* from_at, int to, off_t* to_at, size_t bytes, unsigned flags) {
  (void)from, (void)from_at, (void)to, (void)to_at, (void)bytes, (void)flags;
  errno = ENOSYS;
  return -1;
}
