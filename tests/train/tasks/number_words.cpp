#include "train/tasks/number_words.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <sstream>

#include <gmock/gmock.h>

#include "base/file.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "text/number_words.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class NumberWords : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }
  NumberWordsOptions few_steps(const std::string& name) const {
    return {.run = {.out = path(name), .steps = 2}, .batch = 4, .budget = 0, .held_out = 5};
  }
  NumberWordsResult train(const NumberWordsOptions& options) {
    printed_.str("");
    return train_number_words(options, printed_, TerminalInfo{});
  }
  std::string values(const NumberWordsOptions& options) {
    train(options);
    return read_text(options.run.out + "/model.safetensors");
  }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  std::ostringstream printed_;
};

TEST_F(NumberWords, PrintsTheRunFromBannerToScore) {
  const NumberWordsOptions options = few_steps("model");
  const NumberWordsResult result = train(options);
  const std::string text = printed_.str();
  const auto at = [&text](const std::string& part) {
    EXPECT_THAT(text, HasSubstr(part));
    return text.find(part);
  };
  const std::vector<size_t> places{at("German number words to English: 2 + 2 layers, width 128, "),
                                   at("step 1/2  epoch 0.01  loss "),
                                   at("step 1  valid loss "),
                                   at("step 2/2  epoch 0.02  loss "),
                                   at("step 2  valid loss "),
                                   at(fmt::format("\n{} of 5 held-out numbers exactly right (", result.exact))};
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end())) << text;
  EXPECT_THAT(text, StartsWith("German number words"));
  EXPECT_THAT(text, testing::EndsWith(" tokens/s\n"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "no escapes off a terminal";
  EXPECT_EQ(result.run.step, 2);
  EXPECT_GT(result.run.seconds, 0);
  EXPECT_GT(result.run.tokens_per_second, 0);
  EXPECT_GT(result.run.loss, 0);
  EXPECT_THAT(text, HasSubstr(fmt::format("step 2/2  epoch 0.02  loss {:.4f}  ", result.run.loss)));
  EXPECT_EQ(result.held_out, 5);
  EXPECT_GE(result.exact, 0);
  EXPECT_LE(result.exact, 5);
  EXPECT_EQ(result.held_out_exact(), static_cast<double>(result.exact) / 5);
  EXPECT_EQ(NumberWordsResult{}.held_out_exact(), 0);
}

TEST_F(NumberWords, IsTheSameForTheSameSeed) {
  NumberWordsOptions options = few_steps("a");
  const std::string first = values(options);
  options.run.out = path("b");
  EXPECT_TRUE(values(options) == first);
  options.run.start = Start::overwrite;
  options.run.seed = 2;
  EXPECT_FALSE(values(options) == first);
}

TEST_F(NumberWords, LeavesNoTokenizerOfTheRunThatItOverwrites) {
  NumberWordsOptions options = few_steps("model");
  train(options);
  write_text(path("model/tokenizer.json"), "{}");
  write_text(path("model/notes.md"), "mine");
  options.run.start = Start::overwrite;
  train(options);
  EXPECT_FALSE(std::filesystem::exists(path("model/tokenizer.json")));
  EXPECT_EQ(read_text(path("model/notes.md")), "mine");
  EXPECT_NO_THROW(NumberWordsModel::load(options.run.out));
}

TEST_F(NumberWords, LearnsAndTranslatesTheSameFromItsFolder) {
  NumberWordsOptions options = few_steps("model");
  options.run.steps = 60;
  options.batch = 64;
  options.held_out = 100;
  const NumberWordsResult result = train(options);
  EXPECT_EQ(result.run.step, 60);
  EXPECT_LT(result.run.loss, 1.5);

  NumberWordsModel loaded = NumberWordsModel::load(options.run.out);
  const std::vector<int64_t> numbers = scored_numbers(100, options.run.seed);
  std::vector<std::string> german;
  for (int64_t number : numbers) german.push_back(text::german_number(number));
  const std::vector<std::string> english = loaded.translate(german);
  ASSERT_EQ(english.size(), numbers.size());
  EXPECT_GT(std::set<std::string>(english.begin(), english.end()).size(), 20u) << "it says more than a few words";
  int64_t exact = 0;
  for (size_t i = 0; i < numbers.size(); ++i) exact += english[i] == text::english_number(numbers[i]);
  EXPECT_EQ(result.exact, exact);
  EXPECT_TRUE(loaded.translate({}).empty());
}

TEST_F(NumberWords, GoesOnWhereItWasInterruptedToTheSameModel) {
  NumberWordsOptions whole = few_steps("whole");
  whole.run.steps = 6;
  const std::string expected = values(whole);
  NumberWordsOptions options = whole;
  options.run.out = path("stopped");
  int64_t asked = 0;
  options.run.interrupted = [&] { return ++asked == 4; };
  const NumberWordsResult result = train(options);
  EXPECT_EQ(result.run.reason, StopReason::interrupted);
  EXPECT_EQ(result.run.step, 3);
  EXPECT_EQ(result.held_out, 5);
  EXPECT_THAT(printed_.str(), HasSubstr("interrupted after step 3, which " + path("stopped/checkpoint-3 holds")));
  EXPECT_THAT(printed_.str(), HasSubstr(" after 3 steps in "));
  EXPECT_EQ(NumberWordsModel::load(path("stopped")).translate({"drei"}).size(), 1u);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  EXPECT_TRUE(values(options) == expected);
}

TEST_F(NumberWords, PlansOnAResumeWhatItHadPlannedWhateverThePace) {
  NumberWordsOptions whole = few_steps("whole");
  whole.run.steps = 90;
  whole.batch = 1;
  whole.budget = 1e-6;
  const std::string expected = values(whole);
  NumberWordsOptions options = whole;
  options.run.out = path("stopped");
  int64_t asked = 0;
  options.run.interrupted = [&] { return ++asked == 4; };
  EXPECT_EQ(train(options).run.reason, StopReason::interrupted);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  options.budget = 1e6;
  EXPECT_TRUE(values(options) == expected);
  EXPECT_THAT(read_text(options.run.out + "/checkpoint-50/trainer_state.json"), HasSubstr(R"("planned")"));
}

TEST_F(NumberWords, LeavesALogAndCallsForTheReport) {
  NumberWordsOptions options = few_steps("model");
  std::string reported;
  options.run.report = [&](const std::string& folder) { reported = folder; };
  train(options);
  EXPECT_EQ(reported, options.run.out);
  const std::string log = read_text(options.run.out + "/log.jsonl");
  EXPECT_THAT(log, HasSubstr(R"("task":"number words")"));
  EXPECT_THAT(log, HasSubstr(R"("metrics":{"exact":)"));
  EXPECT_THAT(log, HasSubstr(R"("event":"samples")"));
}

TEST_F(NumberWords, TakesFewerStepsWhereTimeIsShort) {
  NumberWordsOptions options = few_steps("model");
  options.batch = 1;
  options.run.start = Start::overwrite;
  options.run.steps = 90;
  options.budget = 1e-6;
  EXPECT_EQ(train(options).run.step, 50) << "fewer learn nothing";
  EXPECT_THAT(printed_.str(), HasSubstr(" ms a step: 50 steps instead of 90, to stay within 0 s\n"));
  EXPECT_THAT(read_text(options.run.out + "/log.jsonl"), HasSubstr(R"("steps":50,)")) << "the rate ends low as well";
  options.run.steps = 41;
  EXPECT_EQ(train(options).run.step, 41) << "nor more than asked for";
  options.run.steps = 52;
  options.budget = std::numeric_limits<double>::infinity();
  EXPECT_EQ(train(options).run.step, 52);
  EXPECT_THAT(printed_.str(), testing::Not(HasSubstr("instead of")));
}

TEST_F(NumberWords, RefusesOptionsOutOfRange) {
  const auto refused = [this](auto&& change, const std::string& sentence) {
    NumberWordsOptions options = few_steps("model");
    change(options);
    EXPECT_TAPE_ERROR(train(options), ErrorKind::config, sentence);
    EXPECT_EQ(printed_.str(), "");
  };
  using Options = NumberWordsOptions;
  refused([](Options& o) { o.run.steps = 0; }, "train: steps must be at least 1, got 0");
  refused([](Options& o) { o.batch = -1; }, "number words: batch must be at least 1, got -1");
  refused([](Options& o) { o.held_out = 0; }, "number words: held_out must be at least 1, got 0");
  refused([](Options& o) { o.budget = -0.5; }, "number words: the budget must not be negative, got -0.5");
  refused([](Options& o) { o.budget = std::numeric_limits<double>::quiet_NaN(); },
          "number words: the budget must not be negative, got nan");
  refused([](Options& o) { o.run.lr = -1e-3; }, "train: lr must be a number > 0, got -0.001");
  refused([](Options& o) { o.run.lr = std::numeric_limits<double>::infinity(); },
          "train: lr must be a number > 0, got inf");
  EXPECT_FALSE(fs::exists(path("model"))) << "nothing is written";
}

TEST_F(NumberWords, SeesBeforeTrainingThatTheFolderCannotBeWritten) {
  write_text(path("file"), "in the way");
  NumberWordsOptions options = few_steps("file/model");
  bool trained = false;
  options.run.interrupted = [&] { return trained = true; };
  EXPECT_THROW(train(options), Error);
  EXPECT_FALSE(trained);
  fs::create_directories(path("model/tgt_vocab.txt/more"));
  options.run.out = path("model");
  options.run.start = Start::overwrite;
  EXPECT_TAPE_ERROR(train(options), ErrorKind::io,
                    options.run.out + "/tgt_vocab.txt: cannot remove: Directory not empty");
  EXPECT_FALSE(trained);
}

/// A saved model whose files the test breaks one at a time.
class BrokenNumberWords : public NumberWords {
 protected:
  BrokenNumberWords() { train(few_steps("model")); }

  void expect_refused(const std::string& file, const std::string& content, ErrorKind kind,
                      const std::string& sentence) const {
    const std::string place = path("model/" + file), good = read_text(place);
    write_text(place, content);
    EXPECT_TAPE_ERROR(NumberWordsModel::load(path("model")), kind, place + sentence);
    write_text(place, good);
  }
};

TEST_F(BrokenNumberWords, NamesTheMissingFile) {
  const std::vector<std::pair<std::string, std::string>> files{
      {"config.json", "cannot open: No such file or directory"},
      {"model.safetensors", "cannot open: No such file or directory"},
      {"src_vocab.txt", "cannot open: No such file or directory"},
      {"tgt_vocab.txt", "cannot open: No such file or directory"}};
  for (const auto& [file, fault] : files) {
    fs::rename(path("model/" + file), path("aside"));
    EXPECT_TAPE_ERROR(NumberWordsModel::load(path("model")), ErrorKind::io, path("model/" + file + ": " + fault));
    fs::rename(path("aside"), path("model/" + file));
  }
  NumberWordsModel::load(path("model"));
}

TEST_F(BrokenNumberWords, NamesTheBrokenFile) {
  expect_refused("config.json", "[]", ErrorKind::format, ": not a JSON object");
  expect_refused("model.safetensors", "", ErrorKind::format, ": header too small (0 bytes)");
  expect_refused("src_vocab.txt", "<pad>\n<bos>\neins\n", ErrorKind::format,
                 ":3: \"eins\" where <eos> must stand: a vocabulary begins with <pad>, <bos>, <eos>, <unk>");
  expect_refused("tgt_vocab.txt", "", ErrorKind::format,
                 ": has 0 lines, a vocabulary begins with <pad>, <bos>, <eos>, <unk>");
  NumberWordsModel::load(path("model"));
}

TEST_F(BrokenNumberWords, NamesAVocabularyOfAnotherModel) {
  const models::TransformerConfig config = models::load<models::Transformer>(path("model"))->config();
  const auto fault = [](int64_t has, int64_t needs, const char* key) {
    return fmt::format(": {} tokens, the model needs {} (config.json: {})", has, needs, key);
  };
  expect_refused("src_vocab.txt", "<pad>\n<bos>\n<eos>\n<unk>\neins\n", ErrorKind::format,
                 fault(5, config.src_vocab, "src_vocab_size"));
  expect_refused("tgt_vocab.txt", read_text(path("model/tgt_vocab.txt")) + "zillion\n", ErrorKind::format,
                 fault(config.tgt_vocab + 1, config.tgt_vocab, "tgt_vocab_size"));
}

}  // namespace
}  // namespace tape::train
