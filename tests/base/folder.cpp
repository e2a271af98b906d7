#include "base/folder.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

namespace fs = std::filesystem;

void write(const std::string& path) { std::ofstream(path) << "x"; }

TEST(Folder, NamesAreSorted) {
  const TemporaryFolder folder;
  for (const char* name : {"b", ".hidden", "a"}) write(folder / name);
  std::error_code failed;
  EXPECT_THAT(folder_names(folder.path(), failed), testing::ElementsAre(".hidden", "a", "b"));
  EXPECT_FALSE(failed);
}

TEST(Folder, SaysWhyItCannotBeRead) {
  const TemporaryFolder folder;
  std::error_code failed;
  EXPECT_TRUE(folder_names(folder / "none", failed).empty());
  EXPECT_EQ(failed, std::errc::no_such_file_or_directory);
  write(folder / "file");
  EXPECT_TRUE(folder_names(folder / "file", failed).empty());
  EXPECT_EQ(failed, std::errc::not_a_directory);
}

TEST(Folder, IsRemovedWithAllThatLiesInIt) {
  const TemporaryFolder folder;
  const std::string whole = folder / "whole", outside = folder / "outside";
  fs::create_directories(whole + "/a/b");
  write(whole + "/a/b/file");
  write(outside);
  fs::create_symlink(outside, whole + "/link");
  std::error_code failed;
  remove_all(whole, failed);
  EXPECT_FALSE(failed);
  EXPECT_FALSE(fs::exists(whole));
  EXPECT_TRUE(fs::exists(outside)) << "a link is removed, not what it leads to";
  remove_all(whole, failed);  // there is none any more
  EXPECT_FALSE(failed);
  remove_all(outside, failed);
  EXPECT_FALSE(fs::exists(outside));
}

}  // namespace
}  // namespace tape
