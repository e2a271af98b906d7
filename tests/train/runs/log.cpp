#include "train/runs/log.h"

#include <cmath>
#include <filesystem>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_task.h"
#include "train/memory/machine.h"

namespace tape::train {
namespace {

using Json = nlohmann::ordered_json;

TEST(Log, WritesTheDocumentedLines) {
  const TemporaryFolder folder;
  {
    Log log(folder / "log.jsonl");
    log.start({.task = "translation",
               .parameters = 7,
               .options_json = R"({"lr": 0.1})",
               .loss_floor = 0.5,
               .chance_loss = 4,
               .model = "Model\n"});
    log.step({.step = 5,
              .epoch = 1.25,
              .loss = 2.5,
              .lr = 0.001,
              .grad_norm = 3,
              .tokens = 100,
              .tokens_per_second = 50,
              .seconds = 9});
    const Evaluation evaluation{.loss = 2,
                                .metrics = {{"bleu", 31.2}},
                                .samples = {{"in", "ref", "out"}},
                                .drawn = "all 1 pairs",
                                .confusion = Confusion{{"a", "b"}, {{3, 1}, {0, 4}}}};
    log.evaluation(5, 10, evaluation);
    log.samples(5, evaluation);
    log.samples(5, {.loss = 2});  // none
    log.evaluation(5, 10, {.loss = NAN}, "average of the last 5 checkpoints");
    log.checkpoint(5, "checkpoint-5", true);
    log.resume(5);
    log.warning(5, "broken \xff");
    log.end(6, 12, "steps", {{"bleu", 32}});
  }
  const std::vector<std::string> lines = lines_of(folder / "log.jsonl");
  ASSERT_EQ(lines.size(), 10U);
  Json start = Json::parse(lines[0]);
  EXPECT_THAT(start["time"].get<std::string>(),
              testing::MatchesRegex("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"));
  EXPECT_EQ(start["machine"], to_string(machine()));
  start.erase("time");
  start.erase("machine");
  EXPECT_EQ(
      start.dump(),
      R"({"event":"start","task":"translation","parameters":7,"options":{"lr":0.1},"loss_floor":0.5,"chance_loss":4.0,"model":"Model\n"})");
  EXPECT_EQ(lines[1], R"({"event":"step","step":5,"epoch":1.25,"loss":2.5,"lr":0.001,"grad_norm":3.0,"tokens":100,)"
                      R"("tokens_per_second":50.0,"seconds":9.0})");
  EXPECT_EQ(lines[2], R"({"event":"eval","step":5,"seconds":10.0,"loss":2.0,"metrics":{"bleu":31.2}})");
  EXPECT_EQ(lines[4], R"({"event":"samples","step":5,"samples":[{"input":"in","reference":"ref","output":"out"}],)"
                      R"("drawn":"all 1 pairs"})");
  EXPECT_EQ(lines[3], R"({"event":"confusion","step":5,"labels":["a","b"],"counts":[[3,1],[0,4]]})");
  EXPECT_EQ(lines[5], R"({"event":"eval","step":5,"seconds":10.0,"loss":null,"metrics":{},)"
                      R"("weights":"average of the last 5 checkpoints"})");
  EXPECT_EQ(lines[6], R"({"event":"checkpoint","step":5,"folder":"checkpoint-5","best":true})");
  EXPECT_EQ(lines[7], R"({"event":"resume","step":5})");
  EXPECT_EQ(lines[8], "{\"event\":\"warning\",\"step\":5,\"text\":\"broken \xef\xbf\xbd\"}");
  EXPECT_EQ(lines[9], R"({"event":"end","step":6,"seconds":12.0,"reason":"steps","metrics":{"bleu":32.0}})");
}

TEST(Log, CanBeTruncatedAfterAStep) {
  const TemporaryFolder folder;
  const std::string path = folder / "log.jsonl";
  const std::string kept = "{\"event\":\"start\"}\n{\"event\":\"step\",\"step\":1}\n{\"event\":\"step\",\"step\":2}\n";
  write_text(path, kept +
                       "not a line\n{\"event\":\"step\",\"step\":3}\n{\"event\":\"checkpoint\",\"step\":2}\n"
                       "{\"event\":\"step\",\"st");
  truncate_log(path, 2);
  EXPECT_EQ(read_text(path), kept + "{\"event\":\"checkpoint\",\"step\":2}\n");
  truncate_log(path, -2);
  EXPECT_EQ(read_text(path), "");
  truncate_log(folder / "missing.jsonl", 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "missing.jsonl"));
}

TEST(Log, NamesAFileThatCannotBeWritten) {
  const TemporaryFolder folder;
  EXPECT_TAPE_ERROR(Log(folder / "none/log.jsonl"), ErrorKind::io,
                    folder / "none/log.jsonl: cannot open: No such file or directory");
  EXPECT_TAPE_ERROR(Log("/dev/full").resume(1), ErrorKind::io, "/dev/full: cannot write: No space left on device");
}

TEST(Log, RefusesOptionsThatAreNotAJsonObject) {
  const TemporaryFolder folder;
  EXPECT_TAPE_ERROR(Log(folder / "log.jsonl").start({.options_json = "[1]"}), ErrorKind::format,
                    "options of the run: not a JSON object");
}

}  // namespace
}  // namespace tape::train
