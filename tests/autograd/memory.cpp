#include "autograd/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/random.h"
#include "base/sanitizer.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

/// Every test starts and ends with an empty cache and no limit.
class Memory : public testing::Test {
 protected:
  Memory() { empty_cache(); }
  ~Memory() override {
    set_memory_limit(INT64_MAX);
    empty_cache();
  }
};

TEST_F(Memory, CountsLiveAndPeakBytes) {
  reset_peak_memory();
  const MemoryStats before = memory_stats();
  {
    const Ref<Storage> a = Storage::allocate(1000);
    EXPECT_EQ(a->bytes(), 1000);
    const int64_t live = memory_stats().live_bytes - before.live_bytes;
    EXPECT_GE(live, 1000);
    EXPECT_LE(live, 1250);  // four size classes per power of two: at most a quarter is wasted
    EXPECT_EQ(memory_stats().requests, before.requests + 1);
  }
  EXPECT_EQ(memory_stats().live_bytes, before.live_bytes);
  EXPECT_GE(memory_stats().peak_bytes, before.live_bytes + 1000);
  reset_peak_memory();
  EXPECT_EQ(memory_stats().peak_bytes, before.live_bytes);
}

TEST_F(Memory, ReusesFreedBlocks) {
  if (kAddressSanitizer) GTEST_SKIP() << "caching is off under sanitizers";
  void* first = nullptr;
  {
    const Ref<Storage> a = Storage::allocate(5000);
    first = a->data();
  }
  EXPECT_GE(memory_stats().cached_bytes, 5000);
  const int64_t system_allocations = memory_stats().system_allocations;
  const Ref<Storage> b = Storage::allocate(4990);  // the same size class
  EXPECT_EQ(b->data(), first);
  EXPECT_EQ(memory_stats().system_allocations, system_allocations);
  EXPECT_EQ(memory_stats().cached_bytes, 0);
  const Ref<Storage> c = Storage::allocate(5000);
  EXPECT_NE(c->data(), first);
  EXPECT_EQ(memory_stats().system_allocations, system_allocations + 1);
}

TEST_F(Memory, EmptiesTheCache) {
  Storage::allocate(100'000);
  empty_cache();
  EXPECT_EQ(memory_stats().cached_bytes, 0);
}

TEST_F(Memory, AlignsTo64Bytes) {
  for (int64_t bytes : {0, 1, 63, 64, 65, 1000, 100'000, 5'000'000})
    EXPECT_EQ(reinterpret_cast<uintptr_t>(Storage::allocate(bytes)->data()) % 64, 0u) << bytes;
}

TEST_F(Memory, ReportsTheLimit) {
  const int64_t live = memory_stats().live_bytes;
  set_memory_limit(live + 1000);
  EXPECT_TAPE_ERROR(Storage::allocate(4096), ErrorKind::out_of_memory,
                    fmt::format("allocate: 4096 bytes requested, {} bytes in use, limit {} bytes", live, live + 1000));
  EXPECT_EQ(memory_stats().live_bytes, live);
  EXPECT_EQ(Storage::allocate(512)->bytes(), 512);
  // Bytes that a block is rounded up by count too.
  set_memory_limit(live + 3000);
  EXPECT_THROW(Storage::allocate(2950), Error);
  EXPECT_EQ(memory_stats().live_bytes, live);
}

TEST_F(Memory, RefusesHugeTensorsWithoutTouchingThem) {
  const int64_t live = memory_stats().live_bytes;
  set_memory_limit(int64_t{1} << 35);
  EXPECT_TAPE_ERROR(
      empty({int64_t{1} << 34}), ErrorKind::out_of_memory,
      fmt::format("allocate: 68719476736 bytes requested, {} bytes in use, limit 34359738368 bytes", live));
  EXPECT_TAPE_ERROR(empty({INT64_MAX}), ErrorKind::shape,
                    "shape: the number of elements of [9223372036854775807] overflows");
  set_memory_limit(INT64_MAX);
  EXPECT_THROW(empty({Shape::kMaxElements}, f64), Error);
}

TEST_F(Memory, ReleasesBorrowedMemoryOnce) {
  int released = 0;
  float values[2] = {1, 2};
  {
    const Tensor x = from_blob(values, {2}, f32, &released, [](void* count) { ++*static_cast<int*>(count); });
    const Tensor row = x[0], kept = x.detach();
    EXPECT_EQ(x.raw(), values);
    EXPECT_EQ(kept.data<float>()[1], 2);
  }
  EXPECT_EQ(released, 1);
}

constexpr int64_t kOneMegabyte = 1 << 20;

TEST_F(Memory, BlocksNeverOverlap) {
  Generator draws(5);
  std::vector<Ref<Storage>> held;
  for (int round = 0; round < 2000; ++round) {
    if (held.size() > 20 || (!held.empty() && draws.below(2) == 0)) {
      const auto at = static_cast<std::ptrdiff_t>(draws.below(std::ssize(held)));
      const Ref<Storage>& storage = held[static_cast<size_t>(at)];
      const auto* ends = static_cast<const int64_t*>(storage->data());
      const int64_t last = storage->bytes() / 8 - 1;
      ASSERT_EQ(ends[0], storage->bytes());
      ASSERT_EQ(ends[last], storage->bytes());
      held.erase(held.begin() + at);
    } else {
      const int64_t bytes = 8 * (1 + draws.below(kOneMegabyte / 2));
      held.push_back(Storage::allocate(bytes));
      auto* ends = static_cast<int64_t*>(held.back()->data());
      ends[0] = ends[bytes / 8 - 1] = bytes;
    }
  }
}

TEST_F(Memory, ServesConcurrentThreads) {
  const int64_t before = memory_stats().live_bytes;
  std::vector<std::thread> threads;
  std::array<int, 4> overwritten{};
  for (size_t t = 0; t < overwritten.size(); ++t)
    threads.emplace_back([t, &overwritten] {
      std::vector<Ref<Storage>> held;
      for (size_t i = 0; i < 1000; ++i) {
        const bool large = (i * 7919 + t) % 3 == 0;
        held.push_back(Storage::allocate(static_cast<int64_t>(large ? 3'000'000 + 4096 * (i % 7) : 64 * (1 + i % 50))));
        *static_cast<size_t*>(held.back()->data()) = t;
        if (held.size() < 20) continue;
        const auto given_back = held.begin() + static_cast<int64_t>(i % 20);
        overwritten[t] += *static_cast<size_t*>((*given_back)->data()) != t;
        held.erase(given_back);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(overwritten, (std::array<int, 4>{}));
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST_F(Memory, ReturnsLargeBlocksToTheSystem) {
  if (kAddressSanitizer) GTEST_SKIP() << "caching is off under sanitizers";
  Storage::allocate(4 * kOneMegabyte);  // freed immediately
  EXPECT_GE(memory_stats().cached_bytes, 4 * kOneMegabyte);
  empty_cache();
  EXPECT_EQ(memory_stats().cached_bytes, 0);
  const int64_t before = memory_stats().system_allocations;
  const Ref<Storage> again = Storage::allocate(4 * kOneMegabyte);
  EXPECT_EQ(memory_stats().system_allocations, before + 1);
}

}  // namespace
}  // namespace tape
