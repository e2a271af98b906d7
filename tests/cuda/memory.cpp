#include "autograd/cuda/memory.h"

#include <cstdint>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/cuda/fake_driver.h"
#include "tests/support/errors.h"

namespace tape::cuda_device {
namespace {

constexpr int64_t kPoolPage = 8 * FakeDriver::kPage;

/// A block of device memory that a test frees itself.
struct Block {
  char* address = nullptr;
  int64_t capacity = 0;

  explicit Block(int64_t bytes) { address = static_cast<char*>(allocate(bytes, capacity)); }
  void release() const { free(address, capacity); }
};

TEST(CudaMemory, CapacitiesAreMultiplesOf512) {
  const FakeDriver fake;
  for (const auto& [bytes, capacity] : {std::pair(0, 512), {1, 512}, {512, 512}, {513, 1024}}) {
    const Block block(bytes);
    EXPECT_EQ(block.capacity, capacity);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block.address) % 512, 0U);
    block.release();
  }
}

TEST(CudaMemory, FreedMemoryIsReusedAtItsAddress) {
  const FakeDriver fake;
  const Block a(1000), b(2000), c(3000);
  EXPECT_EQ(b.address, a.address + 1024);
  EXPECT_EQ(c.address, b.address + 2048);
  b.release();
  const Block d(1500);
  EXPECT_EQ(d.address, b.address);
  const Block e(400);
  EXPECT_EQ(e.address, d.address + 1536);
}

TEST(CudaMemory, LowestRangeThatFitsIsTaken) {
  const FakeDriver fake;
  const Block a(5120), gap1(512), b(1024), gap2(512), c(1024), gap3(512);
  a.release();
  b.release();
  c.release();
  // A closer fit at a higher address is not preferred, and a range that is too small is passed over.
  const Block d(1024), e(4608), f(1024);
  EXPECT_EQ(d.address, a.address);
  EXPECT_EQ(e.address, gap3.address + 512);
  EXPECT_EQ(f.address, d.address + 1024);
}

TEST(CudaMemory, NeighborsAreMerged) {
  const FakeDriver fake;
  const Block a(1024), b(1024), c(1024), end(512);
  for (const auto& order : {std::vector{&a, &b, &c}, {&c, &b, &a}, {&a, &c, &b}}) {
    for (const Block* block : order) block->release();
    const Block whole(3072);
    EXPECT_EQ(whole.address, a.address);
    whole.release();
    for (const Block* block : {&a, &b, &c}) EXPECT_EQ(Block(1024).address, block->address);
  }
}

TEST(CudaMemory, StepsRepeatTheirAddresses) {
  const FakeDriver fake;
  const auto step = [] {
    std::mt19937 random(7);
    std::vector<Block> live;
    std::vector<char*> addresses;
    for (int i = 0; i < 2000; ++i) {
      if (live.size() > 50 || (!live.empty() && random() % 3 == 0)) {
        const size_t at = random() % live.size();
        live[at].release();
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        live.emplace_back(static_cast<int64_t>(random() % 100000));
        addresses.push_back(live.back().address);
      }
    }
    for (const Block& block : live) block.release();
    return addresses;
  };
  const auto first = step();
  EXPECT_EQ(first, step());
  EXPECT_EQ(stats().live_bytes, 0);
}

TEST(CudaMemory, LiveBlocksNeverOverlap) {
  const FakeDriver fake;
  std::mt19937 random(3);
  std::vector<Block> live;
  for (int i = 0; i < 3000; ++i) {
    if (live.size() < 40) {
      const Block added(static_cast<int64_t>(random() % (1 << 20)));
      for (const Block& block : live)
        ASSERT_TRUE(added.address + added.capacity <= block.address || block.address + block.capacity <= added.address);
      live.push_back(added);
    } else {
      const size_t at = random() % live.size();
      live[at].release();
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
}

TEST(CudaMemory, StatisticsCountWhatLives) {
  const FakeDriver fake;
  const Block a(1000), b(3000);
  EXPECT_EQ(stats().live_bytes, 1024 + 3072);
  EXPECT_EQ(stats().requests, 2);
  EXPECT_EQ(stats().system_allocations, 1);
  EXPECT_EQ(stats().cached_bytes, kPoolPage - 4096);
  b.release();
  EXPECT_EQ(stats().live_bytes, 1024);
  EXPECT_EQ(stats().peak_bytes, 4096);
  EXPECT_EQ(stats().cached_bytes, kPoolPage - 1024);
  reset_peak();
  EXPECT_EQ(stats().peak_bytes, 1024);
  const Block large(2 * kPoolPage);
  EXPECT_EQ(stats().system_allocations, 2);
  EXPECT_EQ(fake.mapped, 3);
}

TEST(CudaMemory, EmptyCacheReturnsUnusedPagesAfterWaiting) {
  const FakeDriver fake;
  const Block a(512), large(3 * kPoolPage);
  large.release();
  EXPECT_EQ(fake.used_memory, 4 * kPoolPage);
  empty_cache();
  EXPECT_EQ(fake.used_memory, kPoolPage);
  EXPECT_EQ(fake.unmapped, 3);
  EXPECT_EQ(fake.synchronized, 1);
  EXPECT_EQ(stats().cached_bytes, kPoolPage - 512);
  const Block again(3 * kPoolPage);
  EXPECT_EQ(again.address, large.address);
  EXPECT_EQ(fake.used_memory, 4 * kPoolPage);
}

TEST(CudaMemory, LimitIsReported) {
  const FakeDriver fake;
  set_limit(4096);
  const Block a(1024);
  EXPECT_TAPE_ERROR(Block(3584), ErrorKind::out_of_memory,
                    "cuda: 3584 bytes requested, 1024 bytes in use, limit 4096 bytes");
  EXPECT_EQ(Block(3072).address, a.address + 1024);
}

TEST(CudaMemory, FullDeviceIsReportedWithItsNumbers) {
  FakeDriver fake;
  fake.total_memory = 4 * kPoolPage;
  const Block a(2 * kPoolPage);
  EXPECT_TAPE_ERROR(Block(3 * kPoolPage), ErrorKind::out_of_memory,
                    "cuda: out of memory: 50331648 bytes requested, 33554432 of 67108864 bytes free on the device, "
                    "33554432 bytes in use, 0 bytes cached");
  EXPECT_TAPE_ERROR(Block(int64_t{1} << 60), ErrorKind::out_of_memory,
                    "cuda: out of memory: 1152921504606846976 bytes requested, 33554432 of 67108864 bytes free on the "
                    "device, 33554432 bytes in use, 0 bytes cached");
  // What was refused has left nothing behind.
  EXPECT_EQ(Block(2 * kPoolPage).address, a.address + 2 * kPoolPage);
}

TEST(CudaMemory, CachedPagesAreUsedElsewhereBeforeMemoryIsRefused) {
  FakeDriver fake;
  fake.total_memory = 4 * kPoolPage;
  const Block first(kPoolPage), middle(kPoolPage), last(kPoolPage);
  first.release();
  last.release();
  // Neither hole has room for two pages, but a page of the first one and an unused one make two.
  EXPECT_EQ(Block(2 * kPoolPage).address, last.address);
}

TEST(CudaMemory, MemoryOfAnotherDriverIsIgnored) {
  const auto block = [] {
    const FakeDriver fake;
    return Block(1024);
  }();
  block.release();
}

/// Contexts that are created while it exists have no cache.
struct NoMemoryCaching {
  NoMemoryCaching() { setenv("TAPE_CUDA_NO_MEMORY_CACHING", "1", 1); }
  ~NoMemoryCaching() { unsetenv("TAPE_CUDA_NO_MEMORY_CACHING"); }
};

TEST(CudaMemory, EachRequestIsAnAllocationOfTheDriverWithoutCaching) {
  const NoMemoryCaching off;
  FakeDriver fake;
  fake.total_memory = 10000;
  const Block a(1000), b(3000);
  EXPECT_EQ(fake.allocated, (std::vector<int64_t>{1000, 3000}));
  EXPECT_EQ(fake.mapped, 0);
  EXPECT_EQ(stats().live_bytes, 4000);
  EXPECT_EQ(stats().system_allocations, 2);
  b.release();
  EXPECT_EQ(stats().live_bytes, 1000);
  EXPECT_EQ(stats().cached_bytes, 3000);
  EXPECT_EQ(fake.synchronized, 0);
  // The next request waits for kernels that may still use it.
  const Block c(0);
  EXPECT_EQ(fake.synchronized, 1);
  EXPECT_EQ(fake.allocated, (std::vector<int64_t>{1000, 0, 1}));
  EXPECT_EQ(stats().cached_bytes, 0);
  EXPECT_TAPE_ERROR(Block(9000), ErrorKind::out_of_memory,
                    "cuda: out of memory: 9000 bytes requested, 8999 of 10000 bytes free on the device, 1001 bytes in "
                    "use, 0 bytes cached");
  a.release();
  c.release();
  empty_cache();
  EXPECT_EQ(fake.used_memory, 0);
  EXPECT_EQ(stats().cached_bytes, 0);
}

TEST(CudaMemory, PinnedMemoryIsReportedIfRefused) {
  const FakeDriver fake;
  void* const pinned = allocate_pinned(64);
  EXPECT_NE(pinned, nullptr);
  free_pinned(pinned);
  EXPECT_TAPE_ERROR(allocate_pinned(1000), ErrorKind::out_of_memory,
                    "cuda: the system refused 1000 bytes of pinned memory");
}

}  // namespace
}  // namespace tape::cuda_device
