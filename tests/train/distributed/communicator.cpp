#include "train/distributed/communicator.h"

#include <numeric>

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/thread_ranks.h"
#include "train/distributed/consistency.h"
#include "train/distributed/world.h"

namespace tape::train {
namespace {

using testing::Each;

TEST(Communicator, GathersValuesAndTextsInRankOrder) {
  for (const int size : {1, 2, 3, 4})
    run_ranks(size, [&](Communicator& ranks) {
      std::vector<int64_t> expected(static_cast<size_t>(size));
      std::iota(expected.begin(), expected.end(), 10);
      EXPECT_EQ(all_gather(ranks, int64_t{10} + ranks.rank()), expected);
      const std::string mine(static_cast<size_t>(ranks.rank()), 'x');
      const std::vector<std::string> texts = all_gather(ranks, mine);
      ASSERT_EQ(texts.size(), static_cast<size_t>(size));
      for (size_t r = 0; r < texts.size(); ++r) EXPECT_EQ(texts[r], std::string(r, 'x'));
      EXPECT_EQ(broadcast(ranks, "from " + std::to_string(ranks.rank())), "from 0");
      EXPECT_TRUE(any(ranks, ranks.rank() == size - 1));
      EXPECT_FALSE(any(ranks, false));
    });
}

TEST(Communicator, SpreadsWorkAndReturnsResultsInOrder) {
  for (const int size : {1, 2, 3, 4})
    for (const size_t count : {0U, 1U, 3U, 7U})
      run_ranks(size, [&](Communicator& ranks) {
        std::vector<size_t> made, numbers(count);
        const std::vector<double> squares = map_over_ranks(ranks, count, [&](size_t i) {
          made.push_back(i);
          return static_cast<double>(i * i);
        });
        ASSERT_EQ(squares.size(), count);
        for (size_t i = 0; i < count; ++i) EXPECT_EQ(squares[i], static_cast<double>(i * i));
        std::iota(numbers.begin(), numbers.end(), 0);
        EXPECT_EQ(made, share_of(ranks, numbers)) << "each rank makes only its share";
        std::vector<std::string> texts, mine;
        for (const size_t i : numbers) texts.push_back(std::string(i, 'a') + '\0' + std::to_string(i));
        mine = share_of(ranks, texts);
        EXPECT_EQ(gather_shares(ranks, mine, count), texts);
      });
}

/// Two transfers of each kind at once, completed in a different order than they were started.
TEST(Communicator, MatchesTransfersOfAKindInStartOrder) {
  run_ranks(3, [](Communicator& ranks) {
    constexpr int64_t kBlock = Communicator::kGranule;
    const auto filled = [&](char value) {
      const auto storage = Storage::allocate(3 * kBlock);
      for (int64_t i = 0; i < 3 * kBlock; ++i)
        static_cast<char*>(storage->data())[i] = static_cast<char>(value + 10 * ranks.rank() + i / kBlock);
      return storage;
    };
    const auto block = [&](const Ref<Storage>& storage, int64_t b) {
      const char* const first = static_cast<const char*>(storage->data()) + b * kBlock;
      return std::vector<int>(first, first + kBlock);
    };
    const auto a = filled(1), b = filled(50), in_a = filled(0), in_b = filled(0), c = filled(70);
    const auto first = ranks.start_all_to_all(a, in_a, kBlock);
    const auto gathered = ranks.start_all_gather(c, c, kBlock);
    const auto second = ranks.start_all_to_all(b, in_b, kBlock);
    second->wait();
    first->wait();
    while (!gathered->done()) {
    }
    for (int r = 0; r < 3; ++r) {
      EXPECT_THAT(block(in_a, r), Each(1 + 10 * r + ranks.rank()));
      EXPECT_THAT(block(in_b, r), Each(50 + 10 * r + ranks.rank()));
      EXPECT_THAT(block(c, r), Each(70 + 10 * r + r));
    }
  });
}

TEST(Communicator, ReceivesWhatItSendsInASingleProcess) {
  SingleProcess alone;
  EXPECT_EQ(all_gather(alone, 5), std::vector{5});
  EXPECT_EQ(broadcast(alone, "text"), "text");
  EXPECT_EQ(&ranks_or_single(nullptr), &ranks_or_single(nullptr));
  EXPECT_TRUE(ranks_or_single(nullptr).is_root());
}

TEST(SameOnAllRanks, NamesTheFirstLineThatDiffers) {
  run_ranks(3, [](Communicator& ranks) {
    EXPECT_NO_THROW(check_same_text(ranks, "data", "a\nb"));
    EXPECT_TAPE_ERROR(check_same_text(ranks, "data", ranks.rank() == 2 ? "a\nb 2\nc" : "a\nb 0\nc"), ErrorKind::config,
                      "data: rank 2 has b 2, rank 0 has b 0");
    EXPECT_TAPE_ERROR(check_same_text(ranks, "data", ranks.rank() == 1 ? "a" : "a\nb"), ErrorKind::config,
                      "data: rank 1 has nothing, rank 0 has b");
  });
}

TEST(World, HasNoRanksInASingleProcess) {
  const World world;
  EXPECT_EQ(world.ranks(), nullptr);
  EXPECT_EQ(world.ranks_sharing_cores(), 1);
}

TEST(World, RefusesSeveralProcessesWithoutMpi) {
  if (has_mpi()) GTEST_SKIP() << "this build has MPI";
  setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
  EXPECT_TAPE_ERROR(World(), ErrorKind::config,
                    "3 processes were started together, but this tapeformer was built without MPI: build it with "
                    "-DTAPEFORMER_MPI=ON");
  unsetenv("OMPI_COMM_WORLD_SIZE");
}

}  // namespace
}  // namespace tape::train
