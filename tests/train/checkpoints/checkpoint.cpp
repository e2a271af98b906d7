#include "train/checkpoints/checkpoint.h"

#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/tiny_task.h"
#include "train/checkpoints/average.h"
#include "train/checkpoints/manifest.h"
#include "train/checkpoints/trainer_state.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

Checkpoint checkpoint_of(int64_t step) {
  Checkpoint checkpoint;
  checkpoint.model = {{"w", full({3}, static_cast<double>(step))}, {"n", tensor({4}, i64)}};
  checkpoint.optimizer = {{"lr", scalar(0.1, f64)}};
  checkpoint.average = {{"w", full({3}, 0.5)}};
  checkpoint.state.step = step;
  return checkpoint;
}

void flip_bit(const std::string& path, int64_t bit) {
  std::string bytes = read_text(path);
  char& byte = bytes.at(static_cast<size_t>(bit / 8));
  byte = static_cast<char>(byte ^ (1 << bit % 8));
  write_text(path, bytes);
}

TrainerState odd_state() {
  TrainerState state;
  state.step = 12;
  state.schedule_step = 11;
  state.data = {3, 4};
  const auto stream = [](uint64_t seed, uint64_t counter) {
    Generator generator;
    generator.set_state(seed, counter);
    return generator;
  };
  state.random = {stream(1, 2), stream(UINT64_MAX, UINT64_MAX - 1), stream(5, 6), stream(7, 8)};
  state.accumulate = 3;
  state.best = {{10, 0.1 + 0.2}, {5, -1e300}};
  state.best_score = 0.1 + 0.2;
  state.stale = 2;
  state.evaluated_step = -1;
  state.planned = {5, 10};
  state.loss_average = 1.0 / 3;
  state.first_loss = 1e300 / 7;
  state.highest_lr = 0.1 + 0.7;
  state.seconds = 1e-9;
  state.tokens = INT64_MAX;
  state.parameters = {"embedding.weight", "layers.0.bias"};
  state.version = "1.2.3";
  state.kernels = "v4";
  state.blas = "OpenBLAS \"x\"";
  state.blas_core = "Cooperlake";
  state.products = "bf16 on AMX tiles";
  state.threads = 2;
  state.settings = R"({"lr":0.1,"text":{"file":"Märchen.txt"}})";
  return state;
}

TEST(TrainerState, PreservesEveryBit) {
  const TrainerState state = odd_state();
  const std::string text = to_json(state);
  const TrainerState back = trainer_state_from(text, "state");
  EXPECT_EQ(to_json(back), text);
  EXPECT_THAT(text, HasSubstr("Märchen.txt")) << "written without escapes";
  EXPECT_EQ(back.random, state.random);
  EXPECT_EQ(back.data, state.data);
  EXPECT_EQ(back.best, state.best);
  EXPECT_EQ(back.best_score, state.best_score);
  EXPECT_EQ(back.planned, state.planned);
  EXPECT_EQ(back.loss_average, state.loss_average);
  EXPECT_EQ(back.first_loss, state.first_loss);
  EXPECT_EQ(back.highest_lr, state.highest_lr);
  EXPECT_EQ(back.tokens, state.tokens);
  EXPECT_EQ(back.products, state.products);
  EXPECT_EQ(back.threads, state.threads);
  EXPECT_EQ(back.settings, state.settings);
  EXPECT_EQ(back.parameters, state.parameters);
  EXPECT_EQ(trainer_state_from(to_json(TrainerState()), "state").settings, "");
  EXPECT_EQ(trainer_state_from(to_json(TrainerState()), "state").best_score, std::nullopt);
}

TEST(TrainerState, IsReadWithoutFieldsOfLaterVersions) {
  std::string text = to_json(TrainerState());
  for (const char* const line : {"\"parameters\": []", "\"first_loss\": null", "\"highest_lr\": 0.0"})
    text = replaced(text, fmt::format("  {},\n", line), "");
  const TrainerState state = trainer_state_from(text, "state");
  EXPECT_TRUE(state.parameters.empty());
  EXPECT_EQ(state.first_loss, std::nullopt);
}

TEST(TrainerState, IsReadWithoutTheProductsField) {
  std::string text = to_json(odd_state());
  const std::string said = "\"products\": \"bf16 on AMX tiles\",\n";
  ASSERT_NE(text.find(said), std::string::npos);
  text.erase(text.find(said), said.size());
  EXPECT_EQ(trainer_state_from(text, "state").products, "");
}

TEST(TrainerState, RefusesUnknownKeysAndValuesOutOfRange) {
  const auto changed = [](const std::string& from, const std::string& to) {
    std::string text = to_json(odd_state());
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  const auto refused = [&](const std::string& from, const std::string& to, const std::string& sentence) {
    EXPECT_TAPE_ERROR(trainer_state_from(changed(from, to), "state"), ErrorKind::format, sentence);
  };
  refused("\"threads\": 2", "\"threads\": 33333333330",
          "state: \"machine\": \"threads\" must be an integer from 0 to 2147483647, got 33333333330");
  refused("\"step\": 12", "\"step\": 1.5", "state: \"step\" must be an integer from 0 to 9007199254740992, got 1.5");
  refused("\"step\": 12", "\"step\": -1", "state: \"step\" must be an integer from 0 to 9007199254740992, got -1");
  refused("\"step\": 12", "\"step\": 18446744073709551615",
          "state: \"step\" must be an integer from 0 to 9007199254740992, got 18446744073709551615");
  refused("\"tokens\": 9223372036854775807", "\"tokens\": 9223372036854775808",
          "state: \"tokens\" must be an integer from 0 to 9223372036854775807, got 9223372036854775808");
  refused("\"embedding.weight\"", "3", "state: \"parameters\" must be a string, got 3");
  refused("\"stale\"", "\"stall\"", "state: \"stale\" is missing");
  refused("\"stale\"", "\"more\": 1, \"stale\"", "state: unknown key \"more\"");
  refused("\"format\": 1", "\"format\": 2", "state: unsupported format 2, this version reads 1");
  refused("\"epoch\": 3", "\"epoch\": null",
          "state: \"data\": \"epoch\" must be an integer from 0 to 9007199254740992, got null");
  refused("\"step\": 12", "\"step\": 1000000000000000000",
          "state: \"step\" must be an integer from 0 to 9007199254740992, got 1000000000000000000");
  // No later step than this one can have been saved, scored or planned.
  refused("\"step\": 10,", "\"step\": 13,", "state: \"best\": \"step\" must be an integer from 0 to 12, got 13");
  refused("\"evaluated_step\": -1", "\"evaluated_step\": 13",
          "state: \"evaluated_step\" must be an integer from -1 to 12, got 13");
  refused("    5,\n    10\n", "5, 13", "state: \"planned\" must be an integer from 0 to 12, got 13");
  refused("\"seconds\": 1e-09", "\"seconds\": -1", "state: \"seconds\" must be >= 0, got -1");
  refused("\"seconds\": 1e-09", "\"seconds\": null", "state: \"seconds\" must be >= 0, got nan");
  refused("\"settings\": {", "\"settings\": 3, \"more\": {", "state: \"settings\": expected a JSON object");
  refused("\"seed\": 1", "\"seed\": \"1\"", "state: \"random\": \"init\": \"seed\" must be an integer >= 0, got \"1\"");
}

TEST(Checkpoint, IsReadAsItWasSaved) {
  const TemporaryFolder run;
  const std::string folder = save_checkpoint(
      run.path(), checkpoint_of(5), {.more = [](const std::string& made) { write_text(made + "/config.json", "{}"); }});
  EXPECT_EQ(folder, run / "checkpoint-5");
  EXPECT_THAT(entries_of(folder), ElementsAre("MANIFEST.json", "average.safetensors", "config.json",
                                              "model.safetensors", "optimizer.safetensors", "trainer_state.json"));
  const Checkpoint back = load_checkpoint(folder), made = checkpoint_of(5);
  EXPECT_EQ(bytes_of_state(back.model), bytes_of_state(made.model));
  EXPECT_EQ(bytes_of_state(back.optimizer), bytes_of_state(made.optimizer));
  EXPECT_EQ(bytes_of_state(back.average), bytes_of_state(made.average));
  EXPECT_EQ(to_json(back.state), to_json(made.state));
  EXPECT_THAT(entries_of(run.path()), ElementsAre("checkpoint-5"));
}

TEST(Checkpoint, ReplacesOneOfTheSameStep) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(5));
  Checkpoint other = checkpoint_of(5);
  other.model["w"] = full({3}, 77);
  save_checkpoint(run.path(), other);
  EXPECT_EQ(load_checkpoint(run / "checkpoint-5").model["w"].to_vector<float>()[0], 77);
  EXPECT_THAT(entries_of(run.path()), ElementsAre("checkpoint-5"));
}

TEST(Checkpoint, IsFoundOnlyUnderItsExactName) {
  const TemporaryFolder run;
  for (const char* name : {"checkpoint-5", "checkpoint-12", "checkpoint-0", "checkpoint-05", "checkpoint-",
                           "checkpoint-3x", "checkpoint--1", ".tmp-checkpoint-9", "checkpoint-99999999999999999999"})
    fs::create_directory(run / name);
  EXPECT_EQ(checkpoint_steps(run.path()), (std::vector<int64_t>{0, 5, 12}));
  EXPECT_EQ(checkpoint_steps(run / "none"), (std::vector<int64_t>{}));
}

TEST(Checkpoint, IgnoresAndRemovesRemainsOfAKilledSave) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(5));
  fs::create_directory(run / ".tmp-checkpoint-7");
  write_text(run / ".tmp-checkpoint-7/model.safetensors", "half");
  EXPECT_EQ(newest_checkpoint(run.path())->checkpoint.state.step, 5);
  save_checkpoint(run.path(), checkpoint_of(6));
  EXPECT_THAT(entries_of(run.path()), ElementsAre("checkpoint-5", "checkpoint-6"));
}

TEST(Checkpoint, MustHaveTheStepInItsName) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(5));
  fs::rename(run / "checkpoint-5", run / "checkpoint-7");
  EXPECT_TAPE_ERROR(
      load_checkpoint(run / "checkpoint-7"), ErrorKind::format,
      fmt::format("{}: \"step\" must be 7 to match the folder's name, got 5", run / "checkpoint-7/trainer_state.json"));
  fs::rename(run / "checkpoint-7", run / "the best");
  EXPECT_EQ(load_checkpoint(run / "the best").state.step, 5);
}

TEST(Checkpoint, NewestWholeFolderSkipsBrokenOnes) {
  const TemporaryFolder run;
  const auto newest = [&run] {
    VerifiedManifests nothing_yet;
    return newest_intact_folder(run.path(), nothing_yet);
  };
  EXPECT_EQ(newest(), std::nullopt);
  for (const int64_t step : {8, 9}) save_checkpoint(run.path(), checkpoint_of(step));
  EXPECT_EQ(newest(), run / "checkpoint-9");
  flip_bit(run / "checkpoint-9/model.safetensors", 8 * 100);
  EXPECT_EQ(newest(), run / "checkpoint-8");
  fs::remove(run / "checkpoint-8/model.safetensors");
  EXPECT_THROW(newest(), Error);
}

TEST(Checkpoint, VerifiesFilesOnceWhileTheirManifestIsUnchanged) {
  const TemporaryFolder run;
  const std::string folder = save_checkpoint(run.path(), checkpoint_of(9)), model = folder + "/model.safetensors";
  VerifiedManifests checked;
  EXPECT_EQ(newest_intact_folder(run.path(), checked), folder);
  flip_bit(model, 8 * std::ssize(read_text(model)) - 1);
  EXPECT_THROW(load_checkpoint(folder), Error);
  // The values have changed, but the file is not read again to verify it.
  EXPECT_EQ(newest_checkpoint(run.path(), {.checked = &checked})->checkpoint.state.step, 9);
  EXPECT_TAPE_ERROR(checked.check(folder, {"notes"}), ErrorKind::format,
                    fmt::format("{}/MANIFEST.json: does not list notes", folder));
  write_text(folder + "/MANIFEST.json", read_text(folder + "/MANIFEST.json") + "\n");
  EXPECT_THROW(checked.check(folder, {}), Error);
}

TEST(Checkpoint, RemovesAllButTheGivenSteps) {
  const TemporaryFolder run;
  for (const int64_t step : {1, 2, 3, 4}) save_checkpoint(run.path(), checkpoint_of(step));
  remove_checkpoints_except(run.path(), {2, 4, 9});
  EXPECT_THAT(entries_of(run.path()), ElementsAre("checkpoint-2", "checkpoint-4"));
}

TEST(Checkpoint, FallsBackToTheNewestIntactOne) {
  const TemporaryFolder run;
  for (const int64_t step : {8, 9, 10}) save_checkpoint(run.path(), checkpoint_of(step));
  EXPECT_TRUE(newest_checkpoint(run.path())->warnings.empty());
  const std::string broken = run / "checkpoint-10/model.safetensors", missing = run / "checkpoint-9/MANIFEST.json";
  flip_bit(broken, 8 * 100);
  fs::remove(missing);
  const auto found = newest_checkpoint(run.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->checkpoint.state.step, 8);
  ASSERT_EQ(found->warnings.size(), 2U);
  EXPECT_THAT(found->warnings[0],
              testing::StartsWith(
                  fmt::format("checkpoint-10 is broken and was skipped: {}: the file was changed or damaged: its "
                              "XXH3 is ",
                              broken)));
  EXPECT_EQ(found->warnings[1], fmt::format("checkpoint-9 is broken and was skipped: {}: cannot open: No such file or "
                                            "directory",
                                            missing));
  fs::remove(run / "checkpoint-8/optimizer.safetensors");
  try {
    newest_checkpoint(run.path());
    ADD_FAILURE() << "all are broken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_THAT(error.what(), HasSubstr("all of its 3 checkpoints are broken:\n"));
    EXPECT_THAT(error.what(), HasSubstr("checkpoint-8/optimizer.safetensors: the file is missing"));
  }
  EXPECT_FALSE(newest_checkpoint(run / "none"));
}

TEST(Checkpoint, DetectsEveryFlippedBitInItsManifest) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(1));
  const std::string path = run / "checkpoint-1/MANIFEST.json", whole = read_text(path);
  for (int64_t bit = 0; bit < std::ssize(whole) * 8; ++bit) {
    write_text(path, whole);
    flip_bit(path, bit);
    EXPECT_THROW(load_checkpoint(run / "checkpoint-1"), Error) << "bit " << bit;
  }
  write_text(path, whole);
  load_checkpoint(run / "checkpoint-1");
}

TEST(Checkpoint, DetectsFlippedBitsInItsFilesAndFilesCutShort) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(1));
  Generator draws(1);
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "average.safetensors", "trainer_state.json"}) {
    const std::string path = run / fmt::format("checkpoint-1/{}", name), whole = read_text(path);
    for (int i = 0; i < 200; ++i) {
      write_text(path, whole);
      flip_bit(path, draws.below(std::ssize(whole) * 8));
      EXPECT_THROW(load_checkpoint(run / "checkpoint-1"), Error) << name;
    }
    for (const size_t size : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
      write_text(path, whole.substr(0, size));
      EXPECT_TAPE_ERROR(load_checkpoint(run / "checkpoint-1"), ErrorKind::format,
                        fmt::format("{}: has {} bytes, MANIFEST.json lists {}", path, size, whole.size()));
    }
    write_text(path, whole);
  }
}

/// Limits the size of files while in scope: a larger write fails as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    signal_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  rlimit before_{};
  void (*signal_)(int) = nullptr;
};

TEST(Checkpoint, LeavesThePreviousOneIntactOnAFullDisk) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(1));
  // One limit each at which the model, the optimizer, the state or the manifest does not fit.
  for (const rlim_t bytes : {0U, 150U, 400U, 700U, 1000U}) {
    const FullDisk full(bytes);
    try {
      Checkpoint next = checkpoint_of(2);
      if (bytes < 700) next.state.blas = std::string(500, 'x');
      next.state.version = std::string(bytes, 'x');
      save_checkpoint(run.path(), next);
      ADD_FAILURE() << "saved within " << bytes;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::io);
      EXPECT_THAT(error.what(), testing::MatchesRegex(".*/\\.tmp-checkpoint-2/.*: cannot write: File too large"));
    }
    EXPECT_THAT(entries_of(run.path()), ElementsAre("checkpoint-1"));
  }
  EXPECT_EQ(newest_checkpoint(run.path())->checkpoint.state.step, 1);
}

TEST(Checkpoint, SavesAndLoadsTheModelWithTheUsersFunctions) {
  const TemporaryFolder run;
  const CheckpointFiles files{
      .save_model =
          [](const std::string& made) {
            save_safetensors(made + "/weights.safetensors", {{"theirs", checkpoint_of(1).model.at("w")}});
          },
      .load_model =
          [](const std::string& folder) {
            rand({3});  // constructing a model draws initial weights
            return nn::StateDict{{"w", load_safetensors(folder + "/weights.safetensors").tensors.at("theirs")}};
          }};
  const std::string folder = save_checkpoint(run.path(), checkpoint_of(1), files);
  EXPECT_THAT(entries_of(folder), ElementsAre("MANIFEST.json", "average.safetensors", "optimizer.safetensors",
                                              "trainer_state.json", "weights.safetensors"));
  const RandomState before = random_state();
  const nn::StateDict wanted{{"w", checkpoint_of(1).model.at("w")}};
  EXPECT_EQ(bytes_of_state(load_checkpoint(folder, files).model), bytes_of_state(wanted));
  EXPECT_EQ(bytes_of_state(load_checkpoint_model(folder, files)), bytes_of_state(wanted));
  EXPECT_EQ(bytes_of_state(newest_checkpoint(run.path(), files)->checkpoint.model), bytes_of_state(wanted));
  EXPECT_EQ(bytes_of_state(average_checkpoints({folder, folder}, files)), bytes_of_state(wanted));
  EXPECT_EQ(random_state(), before);
}

TEST(Checkpoint, LeavesNoFilesIfWritingTheUsersFilesFails) {
  const TemporaryFolder run;
  save_checkpoint(run.path(), checkpoint_of(1));
  EXPECT_TAPE_ERROR(save_checkpoint(run.path(), checkpoint_of(2),
                                    {.more = [](const std::string&) { raise(ErrorKind::io, "no tokenizer"); }}),
                    ErrorKind::io, "no tokenizer");
  EXPECT_THAT(entries_of(run.path()), ElementsAre("checkpoint-1"));
  EXPECT_TAPE_ERROR(save_checkpoint(run.path(), checkpoint_of(2),
                                    {.more = [](const std::string& made) { fs::create_directory(made + "/sub"); }}),
                    ErrorKind::config, run / ".tmp-checkpoint-2/sub: a checkpoint may contain only regular files");
}

TEST(Checkpoint, NamesAFolderThatCannotBeWritten) {
  const TemporaryFolder run;
  write_text(run / "file", "");
  EXPECT_TAPE_ERROR(save_checkpoint(run / "file", checkpoint_of(2)), ErrorKind::io,
                    run / "file/.tmp-checkpoint-2: cannot create the folder: Not a directory");
}

}  // namespace
}  // namespace tape::train
