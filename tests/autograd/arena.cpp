#include "autograd/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tape {
namespace {

constexpr int64_t kMegabyte = 1 << 20;
constexpr int64_t kRegion = 64 * kMegabyte;

TEST(Arena, SplitsAFreedBlock) {
  Arena arena(kRegion);
  arena.give_back(arena.take(8 * kMegabyte).block);
  const Arena::Taken a = arena.take(3 * kMegabyte), b = arena.take(5 * kMegabyte);
  EXPECT_FALSE(a.fresh);
  EXPECT_FALSE(b.fresh);
  EXPECT_NE(a.block, b.block);
  const Arena::Taken c = arena.take(kMegabyte);
  EXPECT_TRUE(c.fresh);
  for (void* block : {a.block, b.block, c.block}) arena.give_back(block);
}

TEST(Arena, MergesAdjacentFreeBlocksInAnyOrder) {
  std::vector<size_t> order{0, 1, 2};
  do {
    Arena arena(kRegion);
    std::vector<void*> parts;
    for (int64_t i = 0; i < 3; ++i) parts.push_back(arena.take((i + 2) * kMegabyte).block);
    void* const wall = arena.take(kMegabyte).block;  // keeps the last block from merging with free memory
    for (const size_t i : order) arena.give_back(parts[i]);
    const Arena::Taken whole = arena.take(9 * kMegabyte);
    EXPECT_FALSE(whole.fresh);
    EXPECT_EQ(whole.block, parts[0]);
    arena.give_back(whole.block);
    arena.give_back(wall);
  } while (std::next_permutation(order.begin(), order.end()));
}

/// Memory retained after the first step must not prevent the second step's largest allocation.
TEST(Arena, DoesNotSplitLargeBlocks) {
  Arena arena(kRegion);
  void* const activations = arena.take(20 * kMegabyte).block;
  void* const gradient = arena.take(kMegabyte).block;
  void* const logits = arena.take(16 * kMegabyte).block;
  void* const wall = arena.take(kMegabyte).block;
  arena.give_back(activations);
  arena.give_back(logits);
  const Arena::Taken moment = arena.take(kMegabyte);
  EXPECT_EQ(moment.block, activations);
  arena.give_back(gradient);
  const Arena::Taken again = arena.take(16 * kMegabyte);
  EXPECT_FALSE(again.fresh);
  for (void* block : {moment.block, again.block, wall}) arena.give_back(block);
}

/// A tensor reuses a block of its own size wherever that block is.
TEST(Arena, PicksTheSmallestSufficientBlock) {
  Arena arena(kRegion);
  std::vector<void*> blocks, walls;
  for (const int64_t size : {7, 3, 5}) {
    blocks.push_back(arena.take(size * kMegabyte).block);
    walls.push_back(arena.take(kMegabyte).block);
  }
  for (void* block : blocks) arena.give_back(block);
  const Arena::Taken taken = arena.take(2 * kMegabyte);
  EXPECT_EQ(taken.block, blocks[1]);
  arena.give_back(taken.block);
  for (void* wall : walls) arena.give_back(wall);
}

TEST(Arena, ReturnsMemoryToTheSystemWhenTrimmed) {
  Arena arena(kRegion);
  auto* const values = static_cast<int64_t*>(arena.take(4 * kMegabyte).block);
  *values = 7;
  arena.give_back(values);
  EXPECT_EQ(arena.cached_bytes(), 4 * kMegabyte);
  arena.trim();
  EXPECT_EQ(arena.cached_bytes(), 0);
  const Arena::Taken again = arena.take(4 * kMegabyte);
  EXPECT_EQ(again.block, values);
  EXPECT_TRUE(again.fresh);
  EXPECT_EQ(*values, 0) << "expected fresh memory";
  arena.give_back(again.block);
}

}  // namespace
}  // namespace tape
