#include "text/corpus/long_list.h"

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

/// 0 to 40 numbers of every magnitude.
std::vector<Ids> some_ids(size_t count) {
  std::mt19937_64 draws(3);
  std::vector<Ids> all(count);
  for (Ids& ids : all)
    for (uint64_t n = draws() % 41; n > 0; --n) ids.push_back(static_cast<int64_t>(draws() >> (draws() % 64)) - 7);
  return all;
}

TEST(PackedValues, RoundTrip) {
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
  EXPECT_EQ(packed.size(), 4u) << "one byte per small number and one for the count";
}

TEST(LongLists, AreTheSameInMemoryAndInAFile) {
  const std::vector<Ids> ids = some_ids(40'000);
  LongList<Ids> in_memory, in_file(1000);
  for (const Ids& one : ids) {
    in_memory.push_back(one);
    in_file.push_back(one);
  }
  ASSERT_GT(in_file.bytes(), 3 << 20);  // several blocks were written to the file
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

TEST(LongLists, CanBeReadConcurrently) {
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

TEST(LongLists, CanBeIterated) {
  const LongList<std::string> texts{"one", "", "three"};
  EXPECT_THAT(texts, ElementsAre("one", "", "three"));
  EXPECT_EQ(texts[2], "three");
  EXPECT_TRUE(LongList<std::string>().empty());
}

TEST(LongLists, CanBeOpenedFromAFile) {
  const TemporaryFolder folder;
  const std::string file = folder / "lists";
  const std::vector<Ids> ids = some_ids(40'000);
  LongList<Ids> in_memory, in_file(1000);
  for (const Ids& one : ids) {
    in_memory.push_back(one);
    in_file.push_back(one);
  }
  const LongList<std::string> texts{"one", "", "three"}, none;
  write_file(file, [&](const Writer& write) {
    in_memory.write(write);
    none.write(write);
    in_file.write(write);
    texts.write(write);
  });
  const auto input = std::make_shared<const InputFile>(file);
  int64_t at = 0;
  const auto first = LongList<Ids>::open(input, at);
  EXPECT_TRUE(LongList<std::string>::open(input, at).empty());
  const auto second = LongList<Ids>::open(input, at);
  EXPECT_THAT(LongList<std::string>::open(input, at), ElementsAre("one", "", "three"));
  EXPECT_EQ(at, input->size());
  EXPECT_TRUE(first == in_memory);
  EXPECT_TRUE(second == in_memory);
  EXPECT_EQ(second.bytes(), in_memory.bytes());
  const LongList<Ids> copy = second;
  EXPECT_EQ(copy[39'999], ids[39'999]);
  // Writing it again gives the same bytes.
  const std::string again = folder / "again";
  write_file(again, [&](const Writer& write) { second.write(write); });
  at = 0;
  EXPECT_TRUE(LongList<Ids>::open(std::make_shared<const InputFile>(again), at) == in_memory);
}

TEST(LongLists, RefuseAFileCutShort) {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole", cut = folder / "cut";
  write_file(whole, [](const Writer& write) { LongList<std::string>{"one", "two"}.write(write); });
  const std::string bytes = read_text(whole);
  const auto open = [&](size_t size) {
    const std::string_view part = std::string_view(bytes).substr(0, size);
    write_file(cut, {&part, 1});
    int64_t at = 0;
    return LongList<std::string>::open(std::make_shared<const InputFile>(cut), at);
  };
  EXPECT_TAPE_ERROR(open(4), ErrorKind::io, cut + ": the file ends at byte 4 but had 4 bytes when it was opened");
  EXPECT_TAPE_ERROR(open(20), ErrorKind::format, cut + ": truncated list of 2 elements");
  EXPECT_TAPE_ERROR(open(bytes.size() - 1)[1], ErrorKind::io,
                    cut + ": the file ends at byte 31 but had 31 bytes when it was opened");
}

TEST(LongLists, LeaveNoFileBehindAndReportAMissingFolder) {
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
                    missing + ": cannot create a temporary file in it: No such file or directory");
  before != nullptr ? setenv("TMPDIR", kept.c_str(), 1) : unsetenv("TMPDIR");
}

}  // namespace
}  // namespace tape
