#include "train/checkpoints/manifest.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace {

std::vector<std::string>* flushed = nullptr;  // files flushed, recorded if not null

}  // namespace

/// Wraps the system's function to record its calls.
extern "C" int fsync(int descriptor) {
  if (flushed != nullptr)
    flushed->push_back(
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor)).filename().string());
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::StartsWith;

/// Otherwise only a power failure would reveal a missing flush.
TEST(Manifest, IsFlushedAfterTheFilesThatItLists) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "step-3");
  for (const char* name : {"model.safetensors", "config.json"})
    write_text(folder / fmt::format("step-3/{}", name), name);
  std::vector<std::string> calls;
  flushed = &calls;
  write_manifest(folder / "step-3");
  flushed = nullptr;
  EXPECT_THAT(calls,
              ElementsAre("config.json", "model.safetensors", StartsWith("MANIFEST.json.tmp-"), "step-3", "step-3"));
  VerifiedManifests().check(folder / "step-3", {"model.safetensors", "config.json"});
}

TEST(Manifest, RejectsPathsOutsideOfTheFolder) {
  const TemporaryFolder run;
  const std::string path = run / "MANIFEST.json";
  for (const char* name : {"../secret", "/etc/passwd", "a/b", "", ".", ".."}) {
    write_text(path, fmt::format(R"({{"format":1,"files":[{{"name":"{}","bytes":1,"xxh3_64":"0"}}]}})", name));
    EXPECT_TAPE_ERROR(VerifiedManifests().check(run.path(), {}), ErrorKind::format,
                      fmt::format("{}: file 0: the path \"{}\" is outside of the folder", path, name));
  }
  fs::create_symlink("/etc/passwd", run / "link");
  write_text(path, R"({"format":1,"files":[{"name":"link","bytes":1,"xxh3_64":"0"}]})");
  EXPECT_TAPE_ERROR(VerifiedManifests().check(run.path(), {}), ErrorKind::format, run / "link: not a regular file");
}

TEST(Manifest, RefusesUnsupportedFormatsAndUnknownKeys) {
  const TemporaryFolder run;
  const std::string path = run / "MANIFEST.json";
  const auto refused = [&](const std::string& text, const std::string& sentence) {
    write_text(path, text);
    EXPECT_TAPE_ERROR(VerifiedManifests().check(run.path(), {"model.safetensors"}), ErrorKind::format, sentence);
  };
  refused(R"({"format":2,"files":[]})", fmt::format("{}: unsupported format 2, this version reads 1", path));
  refused(R"({"format":1,"files":[],"x":1})", fmt::format("{}: unknown key \"x\"", path));
  refused(R"({"format":1})", fmt::format("{}: \"files\" is missing", path));
  refused(R"({"format":1,"files":{}})", fmt::format("{}: \"files\" must be a list", path));
  refused(R"({"format":1,"files":[7]})", fmt::format("{}: file 0: expected a JSON object", path));
  refused(R"({"format":1,"files":[{"name":"a","bytes":-1,"xxh3_64":"0"}]})",
          fmt::format("{}: file 0: \"name\" and \"xxh3_64\" must be strings, \"bytes\" an integer", path));
  refused(R"({"format":1,"files":[]})", fmt::format("{}: does not list model.safetensors", path));
}

TEST(Manifest, HasTheChecksumsOfXxhash) {
  // Python: xxhash.xxh3_64(b"...").hexdigest()
  const TemporaryFolder run;
  write_text(run / "empty", "");
  EXPECT_EQ(file_checksum(run / "empty"), 0x2d06800538d394c2U);
  write_text(run / "abc", "abc");
  EXPECT_EQ(file_checksum(run / "abc"), 0x78af5f94892f3950U);
}

}  // namespace
}  // namespace tape::train
