#pragma once

// Private to the kernels: what every file compiled once a CPU level shares. Everything here lives in the namespace of
// its level, so that the linker cannot give code compiled for AVX-512 to a CPU without it.

#include <cstdint>

#include "common/memory.h"
#include "common/threads.h"

#ifndef TAPE_LEVEL
#error "compile this file with -DTAPE_LEVEL=v2, v3, v4 or portable (cmake/TapeformerKernels.cmake)"
#endif

#define TAPE_INLINE static inline __attribute__((always_inline))
#define TAPE_MEMBER inline __attribute__((always_inline))
// One copy of a function that many call: g++ makes one for each caller's constants even where nothing is inlined.
#ifdef __clang__
#define TAPE_APART __attribute__((noinline))
#else
#define TAPE_APART __attribute__((noinline, noclone))
#endif

namespace tape::kernels::TAPE_LEVEL {

/// Work below two chunks of this many values is not worth waking threads for.
inline constexpr int64_t kChunk = 16384;

TAPE_INLINE int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
TAPE_INLINE int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
TAPE_INLINE int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// body(task) for each task, on several threads (run_tasks()) where `parallel`. Tasks must not depend on the number of
/// threads: that, and one copy of the body, keep the bits of results the same for every number of threads. (In two
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

/// body(begin, end) over [0, n) in chunks of fixed size; `cost` values of work each.
template <class Body>
TAPE_INLINE void for_chunks(int64_t n, int64_t cost, const Body& body) {
  const int64_t chunk = larger(1, kChunk / larger(1, cost));
  const int64_t chunks = divide_up(n, chunk);
  for_tasks(chunks, chunks > 2, [&](int64_t c) { body(c * chunk, smaller(n, (c + 1) * chunk)); });
}

/// visit(E{}) with the whole numbers E that stand for values of any type of this size.
template <class Visit>
TAPE_INLINE void with_size(int64_t element_size, const Visit& visit) {
  if (element_size == 1) visit(uint8_t{});
  if (element_size == 2) visit(uint16_t{});
  if (element_size == 4) visit(uint32_t{});
  if (element_size == 8) visit(uint64_t{});
}

/// Uninitialized memory on 64 bytes, for one call.
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
