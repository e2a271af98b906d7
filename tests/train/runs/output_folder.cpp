#include "train/runs/output_folder.h"

#include <unistd.h>

#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "train/runs/run_folder.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class OutputFolder : public testing::Test {
 protected:
  OutputFolder() {
    fs::create_directory(run);
    write_text(run + "/config.json", "old");
    write_text(run + "/log.jsonl", "");
    fs::create_directory(run + "/checkpoint-3");
    write_text(run + "/notes.txt", "the user's");
  }
  const TemporaryFolder folder;
  const std::string run = folder / "run";
};

TEST_F(OutputFolder, IsNotOverwrittenUnlessRequested) {
  EXPECT_TAPE_ERROR(StagedFolder(run, {}, false), ErrorKind::io,
                    run + " contains checkpoint-3: overwrite it (--overwrite), or choose another folder");
  fs::create_directory(folder / "other");
  write_text(folder / "other/model.safetensors.index.json", "{}");
  EXPECT_TAPE_ERROR(
      RunFolder(folder / "other"), ErrorKind::io,
      folder / "other contains model.safetensors.index.json: overwrite it (--overwrite), or choose another folder");
  EXPECT_THAT(entries_of(folder / "other"), ElementsAre("model.safetensors.index.json"));
}

TEST_F(OutputFolder, MayContainRemainsOfAFailedStart) {
  fs::create_directories(folder / "new/tokens");
  for (const char* left : {".lock", "tokens/train.bin", "vocab.json.tmp-1234"})
    write_text(folder / "new/" + std::string(left), "");
  EXPECT_NO_THROW(RunFolder(folder / "new"));
  write_text(folder / "new/tokens/mine.txt", "");
  EXPECT_TAPE_ERROR(RunFolder(folder / "new"), ErrorKind::io,
                    folder / "new contains tokens: overwrite it (--overwrite), or choose another folder");
}

TEST_F(OutputFolder, KeepsItsContentsUntilTheNewFilesAreComplete) {
  const std::vector<std::string> before = entries_of(run);
  {
    const StagedFolder failing(run, {}, true);
    write_text(failing.staging() + "/config.json", "new");
    EXPECT_EQ(read_text(run + "/config.json"), "old");
    EXPECT_TRUE(fs::exists(run + "/checkpoint-3"));
  }
  EXPECT_EQ(read_text(run + "/config.json"), "old");
  EXPECT_EQ(entries_of(run), before);
  StagedFolder done(run, {}, true);
  write_text(done.staging() + "/config.json", "new");
  fs::create_directory(done.staging() + "/1_Pooling");
  write_text(done.staging() + "/1_Pooling/config.json", "new");
  done.complete();
  EXPECT_EQ(read_text(run + "/config.json"), "new");
  EXPECT_EQ(read_text(run + "/1_Pooling/config.json"), "new");
  EXPECT_FALSE(fs::exists(run + "/log.jsonl"));
  EXPECT_FALSE(fs::exists(run + "/checkpoint-3"));
  EXPECT_TRUE(fs::exists(run + "/notes.txt"));
}

TEST_F(OutputFolder, IsRemovedIfItWasCreatedButNotCompleted) {
  { const StagedFolder failing(folder / "new", {}, false); }
  EXPECT_FALSE(fs::exists(folder / "new"));
  {
    StagedFolder done(folder / "new", {}, false);
    write_text(done.staging() + "/config.json", "new");
    done.complete();
  }
  EXPECT_THAT(entries_of(folder / "new"), ElementsAre("config.json"));
}

TEST_F(OutputFolder, IsNotWrittenWhileAnotherProcessHoldsItsLock) {
  const RunFolder training(run, Start::resume);
  EXPECT_TAPE_ERROR(StagedFolder(run, {}, true), ErrorKind::io,
                    fmt::format("{}: locked by process {}, which is training there", run, getpid()));
  EXPECT_EQ(read_text(run + "/config.json"), "old");
}

TEST_F(OutputFolder, MustNotBeAnInputOfTheSameCommand) {
  fs::create_symlink("run", folder / "link");
  for (const std::string& spelled : {run, run + "/", folder / "./run/../run", folder / "link"}) {
    EXPECT_TAPE_ERROR(StagedFolder(spelled, {run}, true), ErrorKind::config,
                      fmt::format("{}: this command reads from that folder{}; choose another output folder", spelled,
                                  spelled == run ? "" : " as " + run));
    EXPECT_THROW(RunFolder(spelled, Start::overwrite, {run}), Error);
    EXPECT_THROW(RunFolder(spelled, Start::resume, {run}), Error);
  }
  const std::string text = run + "/notes.txt", other = folder / "link/notes.txt";
  EXPECT_TAPE_ERROR(RunFolder(run, Start::overwrite, {"", other}), ErrorKind::config,
                    fmt::format("{}: contains {}, which this command reads; choose another output folder", run, other));
  EXPECT_NO_THROW(RunFolder(run, Start::resume, {text}));
  EXPECT_NO_THROW(StagedFolder(run + "/onnx", {run}, false));
  EXPECT_TAPE_ERROR(check_is_not_an_input(other, {text}), ErrorKind::config,
                    fmt::format("{}: this command reads that file as {}; choose another output file", other, text));
}

TEST_F(OutputFolder, ContainsFilesOfARunThatAreNotOverwritten) {
  fs::create_symlink("run", folder / "link");
  make_folder(run + "/checkpoint-5");
  write_file(run + "/log.jsonl", "");
  write_file(run + "/checkpoint-5/config.json", "");
  for (const char* name :
       {"config.json", "log.jsonl", "checkpoint-5", "checkpoint-5/config.json", "checkpoint-5/new"}) {
    const std::string file = (folder / "link/") + name;
    EXPECT_TAPE_ERROR(
        check_is_not_of_a_run(file, run), ErrorKind::config,
        fmt::format("{}: is a file of {}, which this command reads; choose another output file", file, run));
  }
  write_file(run + "/report.html", "");
  make_folder(run + "/onnx");
  for (const char* name : {"report.html", "new.html", "onnx", "onnx/model.onnx"})
    EXPECT_NO_THROW(check_is_not_of_a_run(run + "/" + name, run)) << name;
}

TEST_F(OutputFolder, KeepsARunsCheckpointsUntilTrainingBegins) {
  const RunFolder overwriting(run, Start::overwrite);
  EXPECT_TRUE(overwriting.replaces());
  EXPECT_TRUE(fs::exists(run + "/log.jsonl"));
  EXPECT_TRUE(fs::exists(run + "/checkpoint-3"));
  overwriting.remove_replaced_run();
  EXPECT_FALSE(fs::exists(run + "/log.jsonl"));
  EXPECT_FALSE(fs::exists(run + "/checkpoint-3"));
}

TEST_F(OutputFolder, MustNotContainLinksThatLeaveIt) {
  write_text(folder / "victim", "kept");
  fs::create_symlink(folder / "victim", run + "/model.safetensors");
  const std::string sentence = run + "/model.safetensors: is a link that leaves the folder; copy the file there";
  EXPECT_TAPE_ERROR(RunFolder(run, Start::resume), ErrorKind::format, sentence);
  EXPECT_TAPE_ERROR(StagedFolder(run, {}, true), ErrorKind::format, sentence);
  fs::rename(run + "/model.safetensors", run + "/checkpoint-3/model.safetensors");
  EXPECT_TAPE_ERROR(RunFolder(run, Start::resume), ErrorKind::format,
                    run + "/checkpoint-3/model.safetensors: is a link that leaves the folder; copy the file there");
}

TEST_F(OutputFolder, RefusesALockFileThatIsALink) {
  write_text(folder / "victim", "kept");
  fs::create_symlink(folder / "victim", run + "/.lock");
  EXPECT_TAPE_ERROR(RunFolder(run, Start::resume), ErrorKind::io,
                    run + "/.lock: a lock file must not be a symbolic link; remove it");
  EXPECT_EQ(read_text(folder / "victim"), "kept");
}

}  // namespace
}  // namespace tape::train
