#include "train/distributed/world.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>

#include "tests/mpi/ranks.h"
#include "tests/support/errors.h"

namespace tape::train {
namespace {

using testing::Each;

TEST(MpiWorld, GathersAndBroadcastsMoreThanOneCallCanMove) {
  Communicator& ranks = ranks_or_single(world().ranks());
  std::vector<int> numbers(static_cast<size_t>(ranks.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(all_gather(ranks, ranks.rank()), numbers);
  constexpr int64_t kMany = (int64_t{1} << 26) + 1000;  // bytes: more than one piece
  std::vector<char> mine(kMany, static_cast<char>(1 + ranks.rank())), all(mine.size() * numbers.size());
  ranks.all_gather(mine.data(), all.data(), kMany);
  for (size_t r = 0; r < numbers.size(); ++r) {
    EXPECT_EQ(all[r * mine.size()], static_cast<char>(1 + r));
    EXPECT_EQ(all[(r + 1) * mine.size() - 1], static_cast<char>(1 + r));
  }
  ranks.broadcast(mine.data(), kMany, ranks.size() - 1);
  EXPECT_EQ(std::ranges::count(mine, static_cast<char>(ranks.size())), kMany);
}

TEST(MpiWorld, MatchesTransfersOfAKindInStartOrder) {
  Communicator& ranks = ranks_or_single(world().ranks());
  constexpr int64_t kBlock = 16 * Communicator::kGranule;
  const auto filled = [&](int value) {
    const auto storage = Storage::allocate(ranks.size() * kBlock);
    for (int64_t i = 0; i < ranks.size() * kBlock; ++i)
      static_cast<char*>(storage->data())[i] = static_cast<char>(value + 10 * ranks.rank() + i / kBlock);
    return storage;
  };
  const auto block = [&](const Ref<Storage>& storage, int64_t b) {
    const char* const first = static_cast<const char*>(storage->data()) + b * kBlock;
    return std::vector<int>(first, first + kBlock);
  };
  const auto a = filled(1), b = filled(41), in_a = filled(0), in_b = filled(0), c = filled(80);
  const auto first = ranks.start_all_to_all(a, in_a, kBlock);
  const auto gathered = ranks.start_all_gather(c, c, kBlock);
  const auto second = ranks.start_all_to_all(b, in_b, kBlock);
  second->wait();
  while (!first->done()) {
  }
  gathered->wait();
  EXPECT_TRUE(gathered->done()) << "still done";
  for (int r = 0; r < ranks.size(); ++r) {
    EXPECT_THAT(block(in_a, r), Each(1 + 10 * r + ranks.rank()));
    EXPECT_THAT(block(in_b, r), Each(41 + 10 * r + ranks.rank()));
    EXPECT_THAT(block(c, r), Each(80 + 10 * r + r));
  }
}

TEST(MpiWorld, CanBeCreatedOnlyOnce) {
  if (!world().ranks()) GTEST_SKIP() << "alone";
  EXPECT_TAPE_ERROR(World(), ErrorKind::config, "World: a process can create only one World");
  EXPECT_GE(world().ranks_sharing_cores(), 1);
  EXPECT_LE(world().ranks_sharing_cores(), world().ranks()->size());
}

}  // namespace
}  // namespace tape::train
