#include "base/long_list.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <thread>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

using testing::ElementsAre;

using Ids = std::vector<int64_t>;

/// Numbers of every size, and 0 to 40 of them.
std::vector<Ids> some_ids(size_t count) {
  std::mt19937_64 draws(3);
  std::vector<Ids> all(count);
  for (Ids& ids : all)
    for (uint64_t n = draws() % 41; n > 0; --n) ids.push_back(static_cast<int64_t>(draws() >> (draws() % 64)) - 7);
  return all;
}

TEST(PackedValues, AreReadAsTheyWereWritten) {
  const Ids ids{
      0, -1, 1, 63, 64, -64, -65, 1 << 20, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
  const std::vector<std::string> texts{"", "a", std::string("\0é", 3), std::string(300, 'x')};
  std::string packed;
  append_packed(packed, ids);
  append_packed(packed, std::vector<std::vector<std::string>>{texts, {}});
  std::string_view rest = packed;
  Ids same;
  std::vector<std::vector<std::string>> same_texts;
  take_packed(rest, same);
  take_packed(rest, same_texts);
  EXPECT_EQ(same, ids);
  EXPECT_THAT(same_texts, ElementsAre(texts, ElementsAre()));
  EXPECT_EQ(rest, "");
  packed.clear();
  append_packed(packed, Ids{0, 50, -3});
  EXPECT_EQ(packed.size(), 4u) << "a byte for each small number and for how many there are";
}

TEST(LongLists, HoldTheSameInMemoryAndInAFile) {
  const std::vector<Ids> ids = some_ids(40'000);
  LongList<Ids> in_memory, in_file(1000);
  for (const Ids& one : ids) {
    in_memory.push_back(one);
    in_file.push_back(one);
  }
  ASSERT_GT(in_file.bytes(), 3 << 20);  // the file has been written to several times
  EXPECT_TRUE(in_memory == in_file);
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(in_file[i], ids[i]) << i;
  EXPECT_EQ(in_file.size(), ids.size());
  const LongList<Ids> copy = in_file;
  in_file.push_back({1});
  EXPECT_FALSE(copy == in_file);
  EXPECT_TRUE(copy == in_memory);
  LongList<Ids> moved = std::move(in_file);
  EXPECT_EQ(moved[40'000], Ids{1});
  EXPECT_EQ(moved[7], ids[7]);
}

TEST(LongLists, AreReadByThreadsAtOnce) {
  const std::vector<Ids> ids = some_ids(5'000);
  LongList<Ids> list(1000);
  for (const Ids& one : ids) list.push_back(one);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (size_t thread = 0; thread < wrong.size(); ++thread)
    threads.emplace_back([&, thread] {
      for (size_t i = thread; i < ids.size(); i += 3) wrong[thread] += list[i] == ids[i] ? 0 : 1;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, ElementsAre(0, 0, 0, 0));
}

TEST(LongLists, AreReadAsOtherListsAre) {
  const LongList<std::string> texts{"one", "", "three"};
  EXPECT_THAT(texts, ElementsAre("one", "", "three"));
  EXPECT_EQ(texts[2], "three");
  EXPECT_TRUE(LongList<std::string>().empty());
}

TEST(LongLists, LeaveNoFileBehindAndSayWhereThereIsNoRoom) {
  const TemporaryFolder folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before != nullptr ? before : "";
  setenv("TMPDIR", folder.path().c_str(), 1);
  LongList<std::string> list(10);
  list.push_back("a text of more than ten bytes");
  EXPECT_EQ(list[0], "a text of more than ten bytes");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  const std::string missing = folder / "missing";
  setenv("TMPDIR", missing.c_str(), 1);
  LongList<std::string> refused(10);
  EXPECT_TAPE_ERROR(refused.push_back("a text of more than ten bytes"), ErrorKind::io,
                    missing + ": cannot make a temporary file in it: No such file or directory");
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace tape
