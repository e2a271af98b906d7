#include "autograd/cuda/memory.h"

#include "autograd/cuda/context.h"
#include "autograd/cuda/memory_pool.h"
#include "autograd/cuda/pinned_pool.h"

namespace tape::cuda_device {

void* allocate(int64_t bytes, int64_t& capacity) { return context().memory->allocate(bytes, capacity); }

void allocate_adjacent(int64_t bytes, std::span<void*> blocks, int64_t& capacity) {
  context().memory->allocate_adjacent(bytes, blocks, capacity);
}

void free(void* pointer, int64_t capacity) noexcept {
  if (MemoryPool* const pool = pool_of(pointer)) pool->free(pointer, capacity);
}

MemoryStats stats() { return context().memory->stats(); }
void reset_peak() { context().memory->reset_peak(); }
void empty_cache() {
  context().memory->trim();
  pinned_pool().trim();
}
void set_limit(int64_t bytes) { context().memory->set_limit(bytes); }

void* allocate_pinned(int64_t bytes) { return pinned_pool().allocate(bytes); }
void free_pinned(void* pointer) noexcept { pinned_pool().free(pointer); }

}  // namespace tape::cuda_device
