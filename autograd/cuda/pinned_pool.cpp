#include "autograd/cuda/pinned_pool.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "autograd/cuda/context.h"
#include "base/error.h"

namespace tape::cuda_device {
namespace {

constexpr int64_t kSmallest = 512;

}  // namespace

PinnedPool& pinned_pool() {
  static auto* pool = new PinnedPool;  // tensors may be freed at any time during exit
  return *pool;
}

void* PinnedPool::allocate(int64_t bytes) {
  context();
  const std::lock_guard lock(mutex_);
  forget_other_drivers();
  const auto capacity = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(bytes, kSmallest))));
  const auto idle = oldest_idle(capacity);
  if (idle == blocks_.end()) return allocate_block(bytes, capacity);
  idle->second.used = true;
  return const_cast<char*>(idle->first);
}

void PinnedPool::free(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  // What another driver allocated ended with it.
  if (generation_ != driver_generation()) return;
  const auto found = blocks_.find(static_cast<const char*>(block));
  if (found == blocks_.end()) return;
  found->second.used = false;
  found->second.freed = ++frees_;
}

/// The block that contains an address, or null.
PinnedPool::Block* PinnedPool::find(const void* at) {
  if (generation_ != driver_generation()) return nullptr;
  const auto* const address = static_cast<const char*>(at);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  auto& [begin, block] = *std::prev(after);
  return address < begin + block.capacity ? &block : nullptr;
}

void PinnedPool::record(Block& block) {
  std::unique_ptr<Event>& copied = block.copied[static_cast<size_t>(context().index)];
  if (!copied) copied = std::make_unique<Event>();
  copied->record_launched();
}

bool PinnedPool::record_copy(const void* at) {
  context();
  const std::lock_guard lock(mutex_);
  Block* const block = find(at);
  if (block) record(*block);
  return block != nullptr;
}

void PinnedPool::record_expected(const void* at) {
  context();
  const std::lock_guard lock(mutex_);
  Block* const block = find(at);
  if (!block) return;
  --block->expected;
  record(*block);
}

void PinnedPool::drop_expected(const void* at) {
  const std::lock_guard lock(mutex_);
  if (Block* const block = find(at)) --block->expected;
}

void PinnedPool::record_or_drop_expected(const void* at) noexcept {
  try {
    record_expected(at);
  } catch (const std::exception&) {  // the device does not work any more
  }
}

uint64_t PinnedPool::expect_copy(const void* at) {
  const std::lock_guard lock(mutex_);
  Block* const block = find(at);
  if (!block) return 0;
  ++block->expected;
  return block->number;
}

void PinnedPool::trim() {
  const std::lock_guard lock(mutex_);
  forget_other_drivers();
  release_idle();
}

bool PinnedPool::is_idle(const Block& block) {
  return !block.used && block.expected == 0 &&
         std::all_of(block.copied.begin(), block.copied.end(),
                     [](const auto& event) { return !event || event->done(); });
}

void PinnedPool::forget_other_drivers() {
  if (generation_ == driver_generation()) return;
  blocks_.clear();
  generation_ = driver_generation();
}

/// The block of this capacity that has been unused for the longest time, whose copies are the most likely to have run.
PinnedPool::Blocks::iterator PinnedPool::oldest_idle(int64_t capacity) {
  auto oldest = blocks_.end();
  for (auto i = blocks_.begin(); i != blocks_.end(); ++i) {
    if (i->second.used || i->second.capacity != capacity) continue;
    if (oldest == blocks_.end() || i->second.freed < oldest->second.freed) oldest = i;
  }
  return oldest != blocks_.end() && is_idle(oldest->second) ? oldest : blocks_.end();
}

void* PinnedPool::allocate_block(int64_t bytes, int64_t capacity) {
  constexpr unsigned kPortable = 1;  // for all contexts
  const Driver& d = *context().driver;
  void* pointer = nullptr;
  Result allocated = d.mem_host_alloc(&pointer, static_cast<size_t>(capacity), kPortable);
  if (allocated == result::out_of_memory) {
    release_idle();
    allocated = d.mem_host_alloc(&pointer, static_cast<size_t>(capacity), kPortable);
  }
  if (allocated == result::out_of_memory)
    raise(ErrorKind::out_of_memory, "cuda: the system refused {} bytes of pinned memory", bytes);
  check(allocated, "cuMemHostAlloc");
  Block& block = blocks_[static_cast<const char*>(pointer)];
  block.capacity = capacity;
  block.number = ++allocated_;
  return pointer;
}

void PinnedPool::release_idle() {
  const Driver& d = *context().driver;
  for (auto i = blocks_.begin(); i != blocks_.end();) {
    const auto block = i++;
    if (!is_idle(block->second)) continue;
    d.mem_free_host(const_cast<char*>(block->first));
    blocks_.erase(block);
  }
}

}  // namespace tape::cuda_device
