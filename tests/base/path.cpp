#include "base/path.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/temporary_file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

TEST(Paths, RaiseIoErrorsIfTheyCannotBeAccessed) {
  const TemporaryFolder folder;
  fs::create_symlink("loop", folder / "loop");
  const std::string loop = folder / "loop/config.json", text = "Too many levels of symbolic links";
  EXPECT_TAPE_ERROR(path_exists(loop), ErrorKind::io, fmt::format("{}: cannot access the file: {}", loop, text));
  EXPECT_TAPE_ERROR(is_folder(loop), ErrorKind::io, fmt::format("{}: cannot access the file: {}", loop, text));
  EXPECT_TAPE_ERROR(folder_entries(folder / "loop"), ErrorKind::io,
                    fmt::format("{}: cannot list the folder: {}", folder / "loop", text));
  EXPECT_TAPE_ERROR(folder_has(folder / "loop", "config.json"), ErrorKind::io,
                    fmt::format("{}: cannot access the file: {}", loop, text));
  const std::string long_name(300, 'a');
  EXPECT_TAPE_ERROR(path_exists(long_name), ErrorKind::io, long_name + ": cannot access the file: File name too long");
}

TEST(Paths, RaiseIoErrorsForNamesOf100Kilobytes) {
  try {
    path_exists(std::string(100'000, 'a'));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_LE(std::string(error.what()).size(), Error::kMaxBytes);
  }
}

TEST(Paths, MayBeMissing) {
  const TemporaryFolder folder;
  write_text(folder / "file", "");
  EXPECT_FALSE(path_exists(folder / "none"));
  EXPECT_FALSE(path_exists(folder / "file/below"));
  EXPECT_FALSE(is_folder(folder / "file"));
  EXPECT_NO_THROW(remove_path(folder / "none"));
  EXPECT_NO_THROW(remove_tree(folder / "none"));
  EXPECT_THAT(folder_entries(folder.path()), ElementsAre("file"));
}

TEST(Paths, AreRecognizedInsideAFolderByAnyName) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "run/tokens");
  fs::create_symlink("run", folder / "link");
  EXPECT_TRUE(is_inside(folder / "run", folder / "run/"));
  EXPECT_TRUE(is_inside(folder / "link/./tokens", folder / "run"));
  EXPECT_TRUE(is_inside(folder / "run/new", folder / "link"));
  EXPECT_FALSE(is_inside(folder / "runs", folder / "run"));
  EXPECT_FALSE(is_inside(folder / "run", folder / "run/tokens"));
}

TEST(Paths, StayUnchangedForAnOpenPipe) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  EXPECT_EQ(canonical_path(fmt::format("/proc/self/fd/{}", ends[1])), fmt::format("/proc/self/fd/{}", ends[1]));
  for (const int end : ends) close(end);
}

TEST(ScratchFolders, RaiseIoErrorsIfTheParentIsMissing) {
  const TemporaryFolder folder;
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ASSERT_EQ(setenv("TMPDIR", (folder / "none").c_str(), 1), 0);
  EXPECT_TAPE_ERROR(ScratchFolder(), ErrorKind::io,
                    folder / "none: cannot create a temporary folder in it: No such file or directory");
  before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
}

/// ENTRY/snapshots/REVISION with config.json, a link into ENTRY/blobs, as in the Hugging Face cache.
struct CacheEntry {
  CacheEntry() {
    fs::create_directories(folder / "entry/blobs");
    fs::create_directories(folder / "entry/snapshots/1/1_Pooling");
    write_text(folder / "entry/blobs/hash", "{}");
    fs::create_symlink("../../blobs/hash", snapshot + "/config.json");
    fs::create_symlink("../../../blobs/hash", snapshot + "/1_Pooling/config.json");
  }
  const TemporaryFolder folder;
  const std::string snapshot = folder / "entry/snapshots/1";
};

TEST(FilesOfAFolder, MayBeLinksIntoTheBlobsOfTheSameCacheEntry) {
  const CacheEntry cache;
  EXPECT_EQ(file_in_folder(cache.snapshot, "config.json"), cache.snapshot + "/config.json");
  EXPECT_TRUE(folder_has(cache.snapshot, "1_Pooling/config.json"));
  fs::create_symlink(cache.snapshot, cache.folder / "model");
  EXPECT_TRUE(folder_has(cache.folder / "model", "config.json"));
}

TEST(FilesOfAFolder, MayBeLinksInsideTheFolder) {
  const TemporaryFolder folder;
  write_text(folder / "tokenizer.json", "{}");
  fs::create_symlink("tokenizer.json", folder / "same.json");
  EXPECT_EQ(file_in_folder(folder.path(), "same.json"), folder / "same.json");
  EXPECT_EQ(file_in_folder(folder.path(), "none.json"), folder / "none.json");
}

TEST(FilesOfAFolder, MayNotBeOtherLinks) {
  const CacheEntry cache;
  const auto refused = [&](const std::string& folder, const std::string& target) {
    fs::remove(folder + "/vocab.json");
    fs::create_symlink(target, folder + "/vocab.json");
    for (const auto& look : {+[](const std::string& f) { file_in_folder(f, "vocab.json"); },
                             +[](const std::string& f) { folder_has(f, "vocab.json"); }})
      EXPECT_TAPE_ERROR(look(folder), ErrorKind::format,
                        folder + "/vocab.json: is a link that leaves the folder; copy the file there");
  };
  fs::create_directories(cache.folder / "other/blobs");
  write_text(cache.folder / "other/blobs/hash", "{}");
  refused(cache.snapshot, cache.folder / "other/blobs/hash");
  refused(cache.snapshot, "/etc/passwd");
  fs::create_directories(cache.folder / "plain");
  refused(cache.folder / "plain", "../other/blobs/hash");
}

void write(const std::string& path) { std::ofstream(path) << "x"; }

TEST(Folder, ListsItsNamesInOrder) {
  const TemporaryFolder folder;
  for (const char* name : {"b", ".hidden", "a"}) write(folder / name);
  std::error_code failed;
  EXPECT_THAT(folder_names(folder.path(), failed), testing::ElementsAre(".hidden", "a", "b"));
  EXPECT_FALSE(failed);
}

TEST(Folder, ReportsWhyItCannotBeRead) {
  const TemporaryFolder folder;
  std::error_code failed;
  EXPECT_TRUE(folder_names(folder / "none", failed).empty());
  EXPECT_EQ(failed, std::errc::no_such_file_or_directory);
  write(folder / "file");
  EXPECT_TRUE(folder_names(folder / "file", failed).empty());
  EXPECT_EQ(failed, std::errc::not_a_directory);
}

TEST(Folder, IsRemovedWithItsContent) {
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
  EXPECT_TRUE(fs::exists(outside)) << "the link is removed, not its target";
  remove_all(whole, failed);  // no longer exists
  EXPECT_FALSE(failed);
  remove_all(outside, failed);
  EXPECT_FALSE(fs::exists(outside));
}

}  // namespace
}  // namespace tape
