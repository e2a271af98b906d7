#include "train/trainer/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "autograd/tape/scope.h"
#include "tests/support/errors.h"

namespace tape::train {
namespace {

using Indices = std::vector<int64_t>;

/// Epoch e has 2 + e % 2 batches, whose indices encode their position.
std::vector<Indices> plan(int64_t epoch) {
  std::vector<Indices> batches;
  for (int64_t batch = 0; batch < 2 + epoch % 2; ++batch) batches.push_back({100 * epoch + batch, -1});
  return batches;
}

Indices same(const Indices& indices) { return indices; }

std::vector<int64_t> firsts(Loader<Indices>& loader, int count) {
  std::vector<int64_t> seen;
  for (int i = 0; i < count; ++i) seen.push_back(loader.next()[0]);
  return seen;
}

TEST(Loader, FollowsThePlanEpochAfterEpoch) {
  for (const int64_t prefetch : {0, 1, 4, 100}) {
    Loader<Indices> loader({.plan = plan, .collate = same, .prefetch = prefetch});
    EXPECT_EQ(firsts(loader, 9), (Indices{0, 1, 100, 101, 102, 200, 201, 300, 301})) << "prefetch " << prefetch;
  }
}

TEST(Loader, ShufflesAllExamplesAgainInEachEpoch) {
  Loader<Indices> loader({.plan = shuffled_batches(10, 4, 3), .collate = same});
  std::vector<Indices> epochs(2);
  for (Indices& epoch : epochs)
    for (const size_t size : {4, 4, 2}) {
      const Indices batch = loader.next();
      EXPECT_EQ(batch.size(), size);
      epoch.insert(epoch.end(), batch.begin(), batch.end());
    }
  EXPECT_NE(epochs[0], epochs[1]);
  for (Indices& epoch : epochs) {
    std::sort(epoch.begin(), epoch.end());
    EXPECT_EQ(epoch, (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
  EXPECT_NE(shuffled_batches(10, 4, 3)(0)[0], shuffled_batches(10, 4, 4)(0)[0]);
  EXPECT_TAPE_ERROR(shuffled_batches(0, 4), ErrorKind::config, "shuffled_batches: examples must be at least 1, got 0");
  EXPECT_TAPE_ERROR(shuffled_batches(10, 0), ErrorKind::config, "shuffled_batches: batch must be at least 1, got 0");
}

TEST(Loader, HasThePositionOfTheNextBatch) {
  Loader<Indices> loader({.plan = plan, .collate = same});
  const std::vector<DataPosition> expected{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, {2, 0}};
  for (const DataPosition& position : expected) {
    EXPECT_EQ(loader.position(), position) << "not the thread's position, which is ahead";
    loader.next();
  }
}

TEST(Loader, ContinuesFromAPosition) {
  for (const int64_t prefetch : {0, 3}) {
    Loader<Indices> loader({.plan = plan, .collate = same, .prefetch = prefetch});
    firsts(loader, 4);
    loader.seek({1, 1});
    EXPECT_EQ(firsts(loader, 3), (Indices{101, 102, 200}));
    loader.seek({0, 0});
    EXPECT_EQ(firsts(loader, 2), (Indices{0, 1}));
  }
}

TEST(Loader, PrefetchesNoMoreThanRequested) {
  std::atomic<int> made = 0;
  Loader<Indices> loader({.plan = plan,
                          .collate =
                              [&](const Indices& indices) {
                                ++made;
                                return indices;
                              },
                          .prefetch = 2});
  loader.next();
  for (int i = 0; i < 200 && made < 4; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(made, 4) << "one taken, two waiting, and one waiting for room";
}

TEST(Loader, DoesNotRecordOnItsThread) {
  Loader<bool> loader({.plan = plan, .collate = [](const Indices&) { return grad_enabled(); }, .prefetch = 1});
  EXPECT_FALSE(loader.next());
}

TEST(Loader, ThrowsInPlaceOfTheBatchAndTriesItAgain) {
  for (const int64_t prefetch : {0, 4}) {
    std::atomic<bool> broken = true;
    Loader<Indices> loader({.plan = plan,
                            .collate =
                                [&](const Indices& indices) {
                                  if (indices[0] == 101 && broken) throw std::runtime_error("line 101 is broken");
                                  return indices;
                                },
                            .prefetch = prefetch});
    EXPECT_EQ(firsts(loader, 3), (Indices{0, 1, 100}));
    for (int attempt = 0; attempt < 2; ++attempt) {
      try {
        loader.next();
        ADD_FAILURE() << "nothing thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "line 101 is broken");
      }
    }
    broken = false;
    EXPECT_EQ(firsts(loader, 2), (Indices{101, 102}));
  }
}

TEST(Loader, RefusesAMissingPlanAndPositionsOutOfRange) {
  using Options = LoaderOptions<Indices>;
  EXPECT_TAPE_ERROR(Loader<Indices>(Options{.plan = {}, .collate = same}), ErrorKind::config,
                    "Loader: the plan function is missing");
  EXPECT_TAPE_ERROR(Loader<Indices>(Options{.plan = plan, .collate = {}}), ErrorKind::config,
                    "Loader: the collate function is missing");
  EXPECT_TAPE_ERROR(Loader<Indices>(Options{.plan = plan, .collate = same, .prefetch = -1}), ErrorKind::config,
                    "Loader: prefetch must not be negative, got -1");
  for (const int64_t prefetch : {0, 2}) {
    Loader<Indices> loader({.plan = plan, .collate = same, .prefetch = prefetch});
    EXPECT_TAPE_ERROR(loader.seek({0, -1}), ErrorKind::config, "Loader: invalid position: epoch 0, batch -1");
    loader.seek({1, 7});
    EXPECT_TAPE_ERROR(loader.next(), ErrorKind::config,
                      "Loader: epoch 1 has 3 batches, so it cannot resume at batch 7 (counted from 0)");
    Loader<Indices> empty(
        {.plan = [](int64_t) { return std::vector<Indices>(); }, .collate = same, .prefetch = prefetch});
    EXPECT_TAPE_ERROR(empty.next(), ErrorKind::config, "Loader: the plan of epoch 0 has no batches");
  }
}

TEST(Loader, CanBeDestroyedWhileItsThreadWorks) {
  std::atomic<int> begun = 0, ended = 0;
  const auto slow = [&](const Indices& indices) {
    ++begun;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    ++ended;
    return indices;
  };
  for (int i = 0; i < 50; ++i) {
    {
      Loader<Indices> loader({.plan = plan, .collate = slow, .prefetch = 3});
      if (i % 2 == 0) {
        EXPECT_EQ(loader.next(), (Indices{0, -1}));
      }
    }
    ASSERT_EQ(begun, ended) << "a batch was still being made";
  }
  const int made = begun;
  EXPECT_GE(made, 25);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(begun, made) << "a thread is still working for a destroyed loader";
}

TEST(Loader, ContinuesWithTheNextEpochOfAShorterPlan) {
  BatchSource source([](int64_t epoch) { return std::vector<std::vector<int64_t>>(epoch == 0 ? 3 : 2, {epoch}); },
                     [](const std::vector<int64_t>&) { return std::make_shared<int>(); }, 0);
  EXPECT_EQ(source.seek_within({0, 2}), (DataPosition{0, 2}));
  EXPECT_EQ(source.seek_within({0, 3}), (DataPosition{1, 0}));
  EXPECT_EQ(source.next().position, (DataPosition{1, 0}));
}

TEST(Loader, SharesEachBatchAmongProcesses) {
  const auto five = [](int64_t epoch) { return std::vector<Indices>{{10 * epoch, 1, 2, 3, 4}, {7}}; };
  for (const int64_t prefetch : {0, 3}) {
    Loader<Indices> first({.plan = five, .collate = same, .prefetch = prefetch}),
        second({.plan = five, .collate = same, .prefetch = prefetch});
    first.next();
    first.source().share(0, 2);
    first.source().seek({});
    second.source().share(1, 2);
    EXPECT_EQ(first.source().next().indices, (Indices{0, 2, 4}));
    EXPECT_EQ(second.source().next().indices, (Indices{1, 3}));
    EXPECT_EQ(first.source().next().indices, (Indices{7}));
    const BatchSource::Item none = second.source().next();
    EXPECT_EQ(none.batch, nullptr) << "the second process has no examples";
    EXPECT_TRUE(none.indices.empty());
    EXPECT_EQ(first.position(), (DataPosition{1, 0}));
    EXPECT_EQ(second.position(), first.position());
  }
}

}  // namespace
}  // namespace tape::train
