#include "train/distributed/shared_data.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "text/corpus/batch_plan.h"

namespace tape::train {
namespace {

using testing::ElementsAre;

struct Examples {
  LongList<std::vector<int64_t>> ids;
  std::vector<std::string> labels;
  std::vector<text::ExampleLength> lengths;
  int64_t lost = 0;

  void parts(auto&& each) { each(ids), each(labels), each(lengths), each(lost); }
};

Examples some_examples() {
  return {.ids = {{1, 2}, {}, {-3}}, .labels = {"no", "", "yes"}, .lengths = {{7, 1 << 20}, {0, 0}}, .lost = -5};
}

void expect_some_examples(const Examples& examples) {
  EXPECT_THAT(examples.ids, ElementsAre(ElementsAre(1, 2), ElementsAre(), ElementsAre(-3)));
  EXPECT_THAT(examples.labels, ElementsAre("no", "", "yes"));
  ASSERT_EQ(examples.lengths.size(), 2u);
  EXPECT_EQ(examples.lengths[0].source, 7);
  EXPECT_EQ(examples.lengths[0].target, 1 << 20);
  EXPECT_EQ(examples.lost, -5);
}

TEST(SharedData, IsMadeByRank0AndReadByAll) {
  const TemporaryFolder folder;
  for (const int size : {2, 3}) {
    std::vector<int> made(static_cast<size_t>(size), 0);
    run_ranks(size, [&](Communicator& ranks) {
      expect_some_examples(shared_data<Examples>(ranks, folder / "examples", [&] {
        ++made[static_cast<size_t>(ranks.rank())];
        return some_examples();
      }));
    });
    EXPECT_EQ(made.front(), 1);
    EXPECT_THAT(std::vector(made.begin() + 1, made.end()), testing::Each(0));
  }
}

TEST(SharedData, WritesNoFileInASingleProcess) {
  const TemporaryFolder folder;
  SingleProcess alone;
  expect_some_examples(shared_data<Examples>(alone, folder / "examples", some_examples));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SharedData, EndsAllRanksIfMakingItFails) {
  const TemporaryFolder folder;
  EXPECT_TAPE_ERROR(run_ranks(2,
                              [&](Communicator& ranks) {
                                shared_data<Examples>(ranks, folder / "examples", []() -> Examples {
                                  raise(ErrorKind::format, "train.tsv: line 3: no tab");
                                });
                              }),
                    ErrorKind::format, "train.tsv: line 3: no tab");
}

}  // namespace
}  // namespace tape::train
