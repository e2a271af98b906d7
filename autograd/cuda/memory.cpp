#include "autograd/cuda/memory.h"

#include "autograd/cuda/context.h"
#include "autograd/cuda/memory_pool.h"
#include "base/error.h"

namespace tape::cuda_device {

void* allocate(int64_t bytes, int64_t& capacity) { return context().memory->allocate(bytes, capacity); }

void free(void* pointer, int64_t capacity) noexcept {
  if (MemoryPool* const pool = pool_of(pointer)) pool->free(pointer, capacity);
}

MemoryStats stats() { return context().memory->stats(); }
void reset_peak() { context().memory->reset_peak(); }
void empty_cache() { context().memory->trim(); }
void set_limit(int64_t bytes) { context().memory->set_limit(bytes); }

void* allocate_pinned(int64_t bytes) {
  constexpr unsigned kPortable = 1;  // for all contexts
  void* pointer = nullptr;
  const Result allocated =
      context().driver->mem_host_alloc(&pointer, static_cast<size_t>(bytes > 0 ? bytes : 1), kPortable);
  if (allocated == result::out_of_memory)
    raise(ErrorKind::out_of_memory, "cuda: the system refused {} bytes of pinned memory", bytes);
  check(allocated, "cuMemHostAlloc");
  return pointer;
}

void free_pinned(void* pointer) noexcept {
  try {
    context().driver->mem_free_host(pointer);
  } catch (const Error&) {
    // Without a driver there is nothing to free.
  }
}

}  // namespace tape::cuda_device
