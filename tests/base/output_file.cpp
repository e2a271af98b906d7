#include "base/output_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

void write(const std::string& path, std::string_view text) { write_file(path, {&text, 1}); }

TEST(WriteFile, ReplacesARegularFileOnlyAfterEverythingIsWritten) {
  const TemporaryFolder folder;
  const std::string file = write_text(folder / "file", "old");
  write_file(file, [&](const Writer& give) {
    give("new");
    EXPECT_EQ(read_text(file), "old");
  });
  EXPECT_EQ(read_text(file), "new");
  EXPECT_THAT(entries_of(folder.path()), ElementsAre("file"));
}

TEST(WriteFile, FollowsALinkAndReplacesItsTarget) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "elsewhere");
  write_text(folder / "elsewhere/target", "old");
  fs::create_symlink("elsewhere/target", folder / "link");
  fs::create_symlink(folder / "link", folder / "link_of_link");
  write(folder / "link_of_link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link_of_link"));
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "elsewhere/target"), "new");
  EXPECT_THAT(entries_of(folder / "elsewhere"), ElementsAre("target"));
}

TEST(WriteFile, CreatesTheMissingTargetOfALink) {
  const TemporaryFolder folder;
  fs::create_symlink("target", folder / "link");
  write(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "target"), "new");
}

TEST(WriteFile, RefusesALoopOfLinks) {
  const TemporaryFolder folder;
  fs::create_symlink("b", folder / "a");
  fs::create_symlink("a", folder / "b");
  EXPECT_TAPE_ERROR(write(folder / "a", "new"), ErrorKind::io,
                    folder / "a: cannot create the file: Too many levels of symbolic links");
}

TEST(WriteFile, WritesToAFifoWithoutReplacingIt) {
  const TemporaryFolder folder;
  const std::string fifo = folder / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] {
    const int opened = open(fifo.c_str(), O_RDONLY | O_CLOEXEC);
    char byte = 0;
    while (read(opened, &byte, 1) == 1) got += byte;
    close(opened);
  });
  write(fifo, "through the pipe");
  reader.join();
  EXPECT_EQ(got, "through the pipe");
  EXPECT_TRUE(fs::is_fifo(fifo));
  EXPECT_THAT(entries_of(folder.path()), ElementsAre("fifo"));
}

TEST(WriteFile, WritesToADeviceWithoutReplacingIt) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/null", folder / "null");
  write(folder / "null", "gone");
  EXPECT_TRUE(fs::is_symlink(folder / "null"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(WriteFile, ReportsAFullDevice) {
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder / "full");
  EXPECT_TAPE_ERROR(write(folder / "full", "text"), ErrorKind::io,
                    folder / "full: cannot write: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(WriteFile, WritesToAnOpenDescriptor) {
  const TemporaryFolder folder;
  const int opened = open((folder / "opened").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  write(fmt::format("/dev/fd/{}", opened), "text");
  close(opened);
  EXPECT_EQ(read_text(folder / "opened"), "text");
  EXPECT_THAT(entries_of(folder.path()), ElementsAre("opened"));
}

TEST(WriteFile, DoesNotFollowALinkAtItsTemporaryFile) {
  const TemporaryFolder folder;
  write_text(folder / "victim", "kept");
  fs::create_symlink("victim", folder / fmt::format("file.tmp-{}", getpid()));
  write(folder / "file", "new");
  EXPECT_EQ(read_text(folder / "victim"), "kept");
  EXPECT_EQ(read_text(folder / "file"), "new");
}

}  // namespace
}  // namespace tape
