#include "train/runs/settings.h"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "train/checkpoints/resume.h"
#include "train/trainer/trainer.h"

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Settings, StoreAFileByItsContent) {
  const TemporaryFolder folder;
  write_text(folder / "abc", "abc");
  // Python: xxhash.xxh3_64(b"abc").hexdigest()
  EXPECT_EQ(file_setting(folder / "abc").dump(),
            fmt::format(R"({{"file":"{}","bytes":3,"xxh3_64":"78af5f94892f3950"}})", folder / "abc"));
  const std::string relative = std::filesystem::proximate(folder / "abc").string(),
                    kept = file_setting(relative)["file"].get<std::string>();
  EXPECT_TRUE(std::filesystem::path(relative).is_relative());
  EXPECT_TRUE(std::filesystem::path(kept).is_absolute()) << kept;
  EXPECT_TRUE(std::filesystem::equivalent(kept, folder / "abc"));
  EXPECT_TRUE(file_setting("").is_null());
  EXPECT_TAPE_ERROR(file_setting(folder / "none"), ErrorKind::io,
                    folder / "none: cannot open: No such file or directory");
}

TEST(Settings, HaveRank0sFileUnlessARankNamesAnother) {
  const TemporaryFolder folder;
  write_text(folder / "abc", "abc");
  write_text(folder / "other", "other");
  run_ranks(2, [&](Communicator& ranks) {
    // Only rank 0 reads a file that all ranks name.
    EXPECT_EQ(file_setting(folder / "abc", ranks), file_setting(folder / "abc"));
    const std::string own = ranks.is_root() ? folder / "abc" : folder / "other";
    EXPECT_EQ(file_setting(own, ranks), file_setting(own));
    for (const bool first : {true, false}) {
      const std::string given = ranks.is_root() == first ? folder / "abc" : "";
      EXPECT_EQ(file_setting(given, ranks), file_setting(given));
    }
  });
}

TEST(Settings, NameTheirDifferences) {
  EXPECT_THAT(differing_settings(R"({"a":1,"b":"x","c":null})", R"({"b":"x","a":1})"), IsEmpty());
  EXPECT_THAT(differing_settings(R"({"a":1,"b":"x","d":0.5})", R"({"a":2,"b":"y","c":[1]})"),
              ElementsAre("a 1 then, 2 now", "b x then, y now", "c not set then, [1] now", "d 0.5 then, not set now"));
}

TEST(Settings, TreatFilesWithTheSameBytesAsEqual) {
  const char* const form = R"({{"text":{{"file":"{}","bytes":{},"xxh3_64":"{}"}}}})";
  const auto text = [form](const char* name, int64_t bytes, const char* hash) {
    return fmt::format(fmt::runtime(form), name, bytes, hash);
  };
  EXPECT_THAT(differing_settings(text("a", 1200, "01"), text("b", 1200, "01")), IsEmpty());
  EXPECT_THAT(differing_settings(text("a", 1200, "01"), text("a", 1200, "02")),
              ElementsAre("text a (1,200 bytes, XXH3 01) then, a (1,200 bytes, XXH3 02) now"));
  EXPECT_THAT(differing_settings(text("a", 1, "01"), text("a", 2, "01")),
              ElementsAre("text a (1 byte, XXH3 01) then, a (2 bytes, XXH3 01) now"));
  EXPECT_THAT(differing_settings(text("a", 1, "01"), R"({"text":null})"),
              ElementsAre("text a (1 byte, XXH3 01) then, not set now"));
}

TEST(Settings, AreWrittenWithoutEscapes) {
  TrainerOptions options;
  options.settings_json = R"({"text":"Märchen.txt"})";
  EXPECT_THAT(settings_of(options), testing::HasSubstr(R"("text":"Märchen.txt")"));
}

TEST(Settings, MustBeAJsonObject) { EXPECT_THROW(differing_settings("[1]", "{}"), Error); }

}  // namespace
}  // namespace tape::train
