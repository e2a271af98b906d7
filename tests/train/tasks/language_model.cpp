#include "train/tasks/language_model.h"
#include "text/tokenizers/load_tokenizer.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "base/file.h"
#include "base/number_text.h"
#include "models/decoding/generate.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/thread_ranks.h"
#include "tests/train/language_model_test.h"
#include "tests/train/run_log.h"
#include "tests/train/tiny_task.h"
#include "text/corpus/number_words.h"
#include "text/tokenizers/characters.h"
#include "text/tokenizers/load_tokenizer.h"
#include "text/tokenizers/tokenizer.h"
#include "train/checkpoints/manifest.h"

namespace tape::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST_F(LanguageModelTest, WritesAFolderThatCanGenerate) {
  LanguageModelOptions given = options("run", 60);
  given.run.lr = 1e-2;
  const LanguageModelResult result = train(given);
  EXPECT_LT(result.valid_loss, 2) << "random guessing would be 3.2";
  EXPECT_NEAR(result.run.evaluation->metrics.at("perplexity"), std::exp(result.valid_loss), 1e-9);
  EXPECT_THAT(told_.str(), HasSubstr("vocabulary of "));
  const auto model = models::load<models::Gpt>(folder_ / "run");
  const auto tokenizer = text::load_tokenizer(folder_ / "run");
  EXPECT_EQ(model->config().vocab, tokenizer->vocab_size());
  const Sample& sample = result.run.evaluation->samples.front();
  EXPECT_EQ(sample.input.size(), 16u);
  const auto said = models::generate(*model, {tokenizer->encode(sample.input).ids},
                                     {.sampling = {.temperature = 0.8}, .max_new_tokens = 200, .seed = 1});
  EXPECT_EQ(tokenizer->decode(said.front().tokens), sample.output);
}

TEST_F(LanguageModelTest, LearnsWithEachArchitecture) {
  for (const auto& [name, kind] : kDecoderKinds) {
    LanguageModelOptions given = options(std::string(name), 60);
    given.run.lr = 1e-2;
    given.architecture = kind;
    EXPECT_LT(train(given).valid_loss, 2) << name << "; random guessing would be 3.2";
    const auto model = models::load<models::CausalLM>(folder_ / std::string(name));
    EXPECT_EQ(model->vocab(), text::load_tokenizer(folder_ / std::string(name))->vocab_size());
  }
}

TEST_F(LanguageModelTest, ResumesOnlyWithItsArchitecture) {
  LanguageModelOptions given = options("whole", 20);
  given.architecture = DecoderKind::qwen3;
  given.kv_heads = 1;
  given.window = 5;
  given.run.dropout = 0.1;
  expect_same_bits_in_parts(given);
  given.window = 6;
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    fmt::format("{}/checkpoint-20: settings differ from those of the run: window 5 then, 6 now; "
                                "use --allow-changes to resume anyway",
                                folder_ / "parts"));
}

TEST_F(LanguageModelTest, LearnsTokensOfABpe) {
  LanguageModelOptions given = options("run", 10);
  given.level = TokenLevel::bpe;
  given.vocab_size = 300;
  train(given);
  EXPECT_EQ(text::load_tokenizer(folder_ / "run")->vocab_size(), 300);
}

TEST_F(LanguageModelTest, ValidatesWithASeparateFile) {
  write_text(folder_ / "valid.txt", "nine hundred ninety-nine\n");
  LanguageModelOptions given = options("run", 10);
  given.valid = folder_ / "valid.txt";
  EXPECT_EQ(train(given).run.evaluation->samples.front().input, "nine hundred nin");
}

TEST_F(LanguageModelTest, ResumesBitwiseExactly) {
  LanguageModelOptions given = options("whole", 20);
  given.run.dropout = 0.1;
  expect_same_bits_in_parts(given);
}

/// Bytes that this process has read from files so far; -1 if the system does not count them.
int64_t bytes_read() {
  std::ifstream counts("/proc/self/io");
  std::string name;
  int64_t bytes = -1;
  counts >> name >> bytes;
  return name == "rchar:" ? bytes : -1;
}

TEST_F(LanguageModelTest, ReadsACheckpointTwiceOnResumeToVerifyAndToLoadIt) {
  if (bytes_read() < 0) return;
  LanguageModelOptions given = options("run", 2);
  given.width = 256;
  train(given);
  int64_t size = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_ / "run/checkpoint-2"))
    size += static_cast<int64_t>(file.file_size());
  given.run.start = Start::resume;
  const int64_t before = bytes_read();
  EXPECT_EQ(train(given).run.resumed_from, 2);
  EXPECT_NEAR(static_cast<double>(bytes_read() - before) / static_cast<double>(size), 2.0, 0.2);
}

TEST_F(LanguageModelTest, MakesEachCheckpointAModelFolder) {
  train(options("run", 20));
  const auto of_run = models::load<models::Gpt>(folder_ / "run");
  const auto of_checkpoint = models::load<models::Gpt>(folder_ / "run/checkpoint-20");
  EXPECT_EQ(bytes_of_state(of_checkpoint->state_dict()), bytes_of_state(of_run->state_dict()));
  EXPECT_EQ(text::load_tokenizer(folder_ / "run/checkpoint-20")->vocab_size(),
            text::load_tokenizer(folder_ / "run")->vocab_size());
}

TEST_F(LanguageModelTest, NamesEveryOptionThatDiffersFromTheCheckpoint) {
  train(options("run", 10));
  const auto file = [this](const char* name) {
    return fmt::format("{} ({}, XXH3 {:016x})", folder_ / name, counted(std::ssize(read_text(folder_ / name)), "byte"),
                       file_checksum(folder_ / name));
  };
  write_text(folder_ / "other.txt", read_text(folder_ / "numbers.txt").substr(3) + "\n\nQ");
  LanguageModelOptions given = options("run", 10);
  given.run.start = Start::resume;
  given.run.lr = 0.5;
  given.run.warmup = 3;
  given.run.dropout = 0.25;
  given.run.weight_decay = 0;
  given.run.clip_norm = 2;
  given.run.seed = 9;
  given.text = folder_ / "other.txt";
  given.valid_fraction = 0.25;
  given.level = TokenLevel::bpe;
  given.vocab_size = 300;
  given.context = 8;
  given.batch = 4;
  given.layers = 2;
  given.width = 64;
  given.heads = 4;
  const std::string all = fmt::format(
      "clip_norm 1.0 then, 2.0 now; lr 0.001 then, 0.5 now; warmup not set then, 3 now; dropout 0.0 then, 0.25 now; "
      "weight_decay 0.1 then, 0.0 now; seed 1 then, 9 now; text {} then, {} now; valid_fraction 0.1 then, 0.25 now; "
      "level characters then, bpe now; vocab_size not set then, 300 now; context 16 then, 8 now; batch 8 then, 4 "
      "now; layers 1 then, 2 now; width 32 then, 64 now; heads 2 then, 4 now",
      file("numbers.txt"), file("other.txt"));
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    fmt::format("{}: settings differ from those of the run: {}; use --allow-changes to resume anyway",
                                folder_ / "run/checkpoint-10", all));
  EXPECT_THAT(told_.str(),
              HasSubstr("other.txt: 1 of 1,370 characters is unknown to the tokenizer, which drops it: \"Q\"\n"));
}

TEST_F(LanguageModelTest, ResumesWithOtherDataIfAllowed) {
  train(options("run", 10));
  LanguageModelOptions given = options("run", 30);
  given.run.start = Start::resume;
  // The same bytes in another file are the same data, and the length of a run may change.
  std::filesystem::copy_file(given.text, folder_ / "copy.txt");
  given.text = folder_ / "copy.txt";
  EXPECT_THAT(train(given).run.warnings, testing::IsEmpty());
  // The checkpoint's position is past the end of this plan: the run continues with the next epoch.
  given.run.steps = 35;
  given.run.allow_changes = true;
  given.batch = 200;
  const LanguageModelResult result = train(given);
  EXPECT_EQ(result.run.step, 35);
  EXPECT_THAT(result.run.warnings, ElementsAre("the run resumes with different settings: batch 8 then, 200 now"));
}

TEST_F(LanguageModelTest, RestoresTheTokenizerFromTheCheckpointOnResume) {
  train(options("run", 10));
  const std::string vocabulary = folder_ / "run/vocab.json", merges = folder_ / "run/merges.txt";
  const std::string whole = read_text(vocabulary), whole_merges = read_text(merges);
  LanguageModelOptions given = options("run", 20);
  given.run.start = Start::resume;
  std::string swapped = whole;  // a valid vocabulary, but a different one
  std::swap(swapped[swapped.find("\"a\"") + 1], swapped[swapped.find("\"b\"") + 1]);
  for (const std::string& broken : {swapped, whole.substr(0, whole.size() / 2), std::string()}) {
    write_text(vocabulary, broken);
    std::filesystem::remove(merges);
    ++*given.run.steps;
    EXPECT_EQ(train(given).run.step, given.run.steps);
    EXPECT_EQ(read_text(vocabulary), whole);
    EXPECT_EQ(read_text(merges), whole_merges);
  }
  train(options("whole", 10));
  // Without a checkpoint the tokenizer is trained again, whatever is left in the folder.
  LanguageModelOptions again = options("killed", 10);
  std::filesystem::create_directory(folder_ / "killed");
  write_text(folder_ / "killed/vocab.json", swapped);
  again.run.start = Start::resume;
  train(again);
  EXPECT_EQ(read_text(folder_ / "killed/vocab.json"), whole);
  EXPECT_EQ(read_text(folder_ / "killed/checkpoint-10/model.safetensors"),
            read_text(folder_ / "whole/checkpoint-10/model.safetensors"));
}

TEST_F(LanguageModelTest, RefusesSizesThatDoNotFitIntoMemory) {
  LanguageModelOptions given = options("run", 10);
  given.layers = 1'000'000'000;
  try {
    train(given);
    ADD_FAILURE() << "a billion layers";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    EXPECT_THAT(error.what(), StartsWith("train lm: 1.270e+13 parameters take 47326.1 GiB, with their gradients and "));
  }
}

TEST_F(LanguageModelTest, RefusesTextsShorterThanAWindowAndRatesOutOfRange) {
  LanguageModelOptions given = options("run", 10);
  given.context = 10'000;
  EXPECT_THROW(train(given), Error);
  given = options("run", 10);
  given.run.lr = 0;
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config, "train: lr must be a number > 0, got 0");
  write_text(folder_ / "valid.txt", "x");
  given = options("run", 10);
  given.valid = folder_ / "valid.txt";
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    fmt::format("train lm: {} has 1 token for validation, which needs at least 2", given.valid));
}

/// Questions whose answers do not occur in them.
std::string answers(int64_t count) {
  std::string records;
  for (int64_t n = 0; n < count; ++n)
    records += fmt::format("{{\"prompt\": \"{}: \", \"completion\": \"{}\"}}\n", n, text::english_number(n));
  return records;
}

TEST_F(LanguageModelTest, LearnsCompletionsOfPrompts) {
  for (const bool pack : {false, true}) {
    LanguageModelOptions given = options(pack ? "packed" : "rows", 80);
    given.text = write_text(folder_ / "answers.jsonl", answers(120));
    given.run.lr = 1e-2;
    given.context = 48;
    given.pack = pack;
    const LanguageModelResult result = train(given);
    EXPECT_LT(result.valid_loss, 2) << "random guessing would be 3.2";
    EXPECT_THAT(result.run.evaluation->samples.front().input, testing::MatchesRegex("[0-9]+: "));
    EXPECT_EQ(result.run.evaluation->drawn, "the first validation prompt, completed");
  }
  EXPECT_THAT(told_.str(), HasSubstr("documents packed into"));
}

TEST_F(LanguageModelTest, ResumesDocumentsOnlyWithTheSameOptions) {
  LanguageModelOptions given = options("whole", 20);
  given.text = write_text(folder_ / "answers.jsonl", answers(120));
  given.context = 48;
  given.pack = true;
  given.run.dropout = 0.1;
  given.run.moments = optim::MomentDtype::bf16;
  given.run.layer_decay = 0.9;
  given.run.lr_of = {{"embeddings", 1e-4}};
  expect_same_bits_in_parts(given);
  given.pack = false;
  given.run.moments = {};
  given.run.layer_decay = 0.8;
  given.run.lr_of = {};
  EXPECT_TAPE_ERROR(
      train(given), ErrorKind::config,
      fmt::format("{}/checkpoint-20: settings differ from those of the run: layer_decay 0.9 then, 0.8 now; "
                  "optimizer_state bf16 then, not set now; lr_of {{\"embeddings\":0.0001}} then, not "
                  "set now; pack true then, not set now; use --allow-changes to resume anyway",
                  folder_ / "parts"));
}

TEST_F(LanguageModelTest, ResumesWithOtherParameterGroups) {
  LanguageModelOptions given = options("run", 10);
  given.layers = 2;
  train(given);
  given.run.layer_decay = 0.9;
  given.run.start = Start::resume;
  given.run.allow_changes = true;
  given.run.steps = 12;
  const LanguageModelResult result = train(given);
  EXPECT_EQ(result.run.resumed_from, 10);
  EXPECT_EQ(result.run.step, 12);
}

TEST_F(LanguageModelTest, LearnsFromTokenFiles) {
  train(options("run", 2));
  // The text as token ids of the same tokenizer gives the same run.
  LanguageModelOptions given = options("tokens", 10);
  std::filesystem::copy_file(folder_ / "run/tokens/train.bin", folder_ / "train.bin");
  std::filesystem::copy_file(folder_ / "run/tokens/valid.bin", folder_ / "valid.bin");
  given.text = folder_ / "train.bin";
  given.valid = folder_ / "valid.bin";
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    fmt::format("train lm: {} contains token ids: their tokenizer is needed, or a model with its "
                                "tokenizer",
                                given.text));
  given.tokenizer = folder_ / "run";
  EXPECT_EQ(train(given).valid_loss, train(options("text", 10)).valid_loss);
}

TEST_F(LanguageModelTest, KeepsItsTokenizerWhenItResumes) {
  train(options("first", 2));
  LanguageModelOptions given = options("run", 2);
  given.tokenizer = folder_ / "first";
  train(given);
  given.run.steps = 4;
  given.run.start = Start::resume;
  given.run.allow_changes = true;
  EXPECT_EQ(train(given).run.resumed_from, 2);
  text::character_tokenizer("abc")->save(folder_ / "other");
  given.tokenizer = folder_ / "other";
  EXPECT_THAT(told_.str(), testing::Not(HasSubstr("is not the tokenizer")));
  given.run.steps = 6;
  EXPECT_EQ(train(given).run.resumed_from, 4);
  EXPECT_THAT(told_.str(), HasSubstr(fmt::format("warning: {} is not the tokenizer that the run began with, which it "
                                                 "keeps\n",
                                                 given.tokenizer)));
}

TEST_F(LanguageModelTest, IsBitwiseEqualWithRecomputedLayers) {
  LanguageModelOptions given = options("plain", 10);
  given.layers = 3;
  given.run.dropout = 0.1;
  const double plain = train(given).valid_loss;
  given.run.out = folder_ / "checkpointed";
  given.run.checkpoint_layers = true;
  EXPECT_EQ(train(given).valid_loss, plain);
  EXPECT_EQ(bytes_of_state(load_checkpoint(folder_ / "plain/checkpoint-10").model),
            bytes_of_state(load_checkpoint(folder_ / "checkpointed/checkpoint-10").model));
}

TEST_F(LanguageModelTest, ReusesTheTokensOfTheRunThatItResumes) {
  train(options("run", 10));
  const std::string ids = folder_ / "run/tokens/train.bin";
  const auto long_ago = std::filesystem::last_write_time(ids) - std::chrono::hours(1);
  std::filesystem::last_write_time(ids, long_ago);
  LanguageModelOptions given = options("run", 12);
  given.run.start = Start::resume;
  train(given);
  EXPECT_EQ(std::filesystem::last_write_time(ids), long_ago);
}

TEST_F(LanguageModelTest, IncludesTheCharactersOfTheValidationText) {
  LanguageModelOptions given = options("run", 2);
  std::string valid;
  for (int i = 0; i < 20; ++i) valid += "QUIZ of one\n";
  given.valid = write_text(folder_ / "valid.txt", valid);
  train(given);
  const auto tokenizer = text::load_tokenizer(folder_ / "run");
  for (const char* character : {"Q", "Z", "n"}) EXPECT_EQ(tokenizer->encode(character).ids.size(), 1u) << character;
}

TEST_F(LanguageModelTest, WarnsOfAMuchTooHighLearningRate) {
  LanguageModelOptions given = options("run", 25);
  given.run.lr = 50;
  const LanguageModelResult result = train(given);
  ASSERT_EQ(result.run.warnings.size(), 1u);
  EXPECT_THAT(result.run.warnings[0], HasSubstr("The learning rate, up to 50 so far, is probably too high (--lr)"));
  EXPECT_THAT(told_.str(), HasSubstr("warning: " + result.run.warnings[0]));
  EXPECT_EQ(events_of(folder_ / "run", "warning").at(0)["text"], result.run.warnings[0]);
  const auto vocab = static_cast<double>(text::load_tokenizer(folder_ / "run")->vocab_size());
  EXPECT_NEAR(events_of(folder_ / "run", "start").at(0)["chance_loss"].get<double>(), std::log(vocab), 1e-9);
  EXPECT_FALSE(events_of(folder_ / "run", "start").at(0).contains("loss_floor")) << "labels are not smoothed";
  given.run.out = folder_ / "sound";
  given.run.lr = 1e-2;
  EXPECT_TRUE(train(given).run.warnings.empty());
}

TEST_F(LanguageModelTest, RanksShareTheTokenizerBeforeTheFolderIsReplaced) {
  train(options("run", 5));
  run_ranks(2, [this](Communicator& ranks) {
    LanguageModelOptions given = options("run", 10);
    given.level = TokenLevel::bpe;
    given.vocab_size = 300;
    given.run.start = Start::overwrite;
    given.run.ranks = std::shared_ptr<Communicator>(&ranks, [](Communicator*) {});
    std::ostringstream told;
    EXPECT_EQ(train_language_model(given, told, {}).run.step, 10);
  });
  EXPECT_THAT(entries_of(folder_ / "run"),
              testing::ElementsAre(".lock", "checkpoint-10", "config.json", "generation_config.json", "log.jsonl",
                                   "merges.txt", "model.safetensors", "tokenizer_config.json", "tokens", "vocab.json"));
  EXPECT_EQ(text::load_tokenizer(folder_ / "run")->vocab_size(), 300);
}

}  // namespace
}  // namespace tape::train
