#pragma once

// Internal to the kernels: shared by every file that is compiled once per CPU level. Everything here is in the level's
// namespace, so that the linker cannot use code compiled for AVX-512 on a CPU without it.

#include <cstdint>

#include "common/memory.h"
#include "common/threads.h"

#ifndef TAPE_LEVEL
#error "compile this file with -DTAPE_LEVEL=v2, v3, v4 or portable (cmake/TapeformerKernels.cmake)"
#endif

#define TAPE_INLINE static inline __attribute__((always_inline))
#define TAPE_MEMBER inline __attribute__((always_inline))
// Keeps a function with many callers as one copy: g++ clones it for each caller's constants even if it is not inlined.
#ifdef __clang__
#define TAPE_APART __attribute__((noinline))
#else
#define TAPE_APART __attribute__((noinline, noclone))
#endif

namespace tape::kernels::TAPE_LEVEL {

/// Work below two chunks of this many values does not justify waking threads.
inline constexpr int64_t kChunk = 16384;

TAPE_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
TAPE_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
TAPE_INLINE int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Calls body(task) for each task, on several threads (run_tasks()) if `parallel`. For bitwise identical results with
/// any number of threads, tasks must not depend on that number, and there must be only one copy of the body. (In two
/// copies g++ may fuse a * b + c * d into either product's multiply-add.)
template <class Body>
TAPE_INLINE void for_tasks(int64_t tasks, bool parallel, const Body& body) {
  const auto one = [&body](int64_t task) TAPE_APART { body(task); };
  if (!parallel || tasks < 2) {
    for (int64_t task = 0; task < tasks; ++task) one(task);
    return;
  }
  run_tasks(tasks, one);
}

/// Calls body(begin, end) over [0, n) in chunks of fixed size; `cost` is the work per element.
template <class Body>
TAPE_INLINE void for_chunks(int64_t n, int64_t cost, const Body& body) {
  const int64_t chunk = larger(1, kChunk / larger(1, cost));
  const int64_t chunks = ceil_div(n, chunk);
  for_tasks(chunks, chunks > 2, [&](int64_t c) { body(c * chunk, smaller(n, (c + 1) * chunk)); });
}

/// Calls visit(E{}) with the integer type E that represents values of any type of this size.
template <class Visit>
TAPE_INLINE void with_size(int64_t element_size, const Visit& visit) {
  if (element_size == 1) visit(uint8_t{});
  if (element_size == 2) visit(uint16_t{});
  if (element_size == 4) visit(uint32_t{});
  if (element_size == 8) visit(uint64_t{});
}

/// Uninitialized memory for one call, aligned to 64 bytes.
template <class T>
class Scratch {
 public:
  explicit Scratch(int64_t n) : data_(static_cast<T*>(acquire_scratch(static_cast<uint64_t>(n) * sizeof(T)))) {}
  ~Scratch() { release_scratch(data_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* data() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_;
};

}  // namespace tape::kernels::TAPE_LEVEL
