#include "train/tasks/translation.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "models/encoder_decoders/translate.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/memory_limit.h"
#include "tests/train/one_thread.h"
#include "tests/train/tiny_task.h"
#include "text/corpus/number_words.h"
#include "text/tokenizers/marian.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Files of number words: a small rule-based corpus.
class TranslationTest : public testing::Test {
 protected:
  TranslationTest() {
    std::string german, english, valid;
    for (int64_t n = 0; n < 400; ++n) {
      german += fmt::format("{}\n", text::german_number(n));
      english += fmt::format("{}\n", text::english_number(n));
    }
    for (int64_t n = 400; n < 420; ++n)
      valid += fmt::format("{}\t{}\n", text::german_number(n), text::english_number(n));
    write_text(folder_ / "train.de", german);
    write_text(folder_ / "train.en", english);
    write_text(folder_ / "valid.tsv", valid);
  }

  TranslationOptions options(const std::string& run, int64_t steps) {
    return {.run = {.out = folder_ / run, .steps = steps, .evaluate_every = 10, .average_last = 2},
            .train = {.src = folder_ / "train.de", .tgt = folder_ / "train.en"},
            .valid = {.tsv = folder_ / "valid.tsv"},
            .vocab_size = 120,
            .batch_tokens = 256,
            .max_length = 40};
  }
  TranslationResult train(const TranslationOptions& given) { return train_translation(given, told_, {}); }

  std::string bytes_of_run(const std::string& run) {
    return bytes_of_state(load_checkpoint(fmt::format("{}/checkpoint-20", folder_ / run)).model);
  }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  std::ostringstream told_;
};

TEST_F(TranslationTest, EvaluatesWithinAMemoryLimit) {
  expect_within_limit(0.6, [&](std::optional<int64_t> limit) {
    TranslationOptions given = options(limit ? "limited" : "free", 2);
    given.valid = given.train;
    given.batch_tokens = 40;
    given.run.average_last = 0;
    given.run.memory_limit = limit;
    return train(given).valid_loss;
  });
}

TEST_F(TranslationTest, WritesAFolderThatCanTranslate) {
  TranslationOptions given = options("run", 20);
  int64_t reports = 0;
  given.run.report = [&](const std::string& path) {
    EXPECT_EQ(path, folder_ / "run");
    ++reports;
  };
  const TranslationResult result = train(given);
  EXPECT_EQ(result.run.step, 20);
  EXPECT_GE(reports, 3);
  EXPECT_GT(result.valid_loss, 0);
  EXPECT_LT(result.valid_loss, std::log(120)) << "no better than random guessing";
  EXPECT_EQ(result.run.evaluation->samples.size(), 8U);
  EXPECT_THAT(result.run.evaluation->drawn, HasSubstr("8 of 20 validation pairs, drawn with seed "));
  const Sample& sample = result.run.evaluation->samples.front();
  EXPECT_THAT(sample.input, HasSubstr("vierhundert"));
  EXPECT_THAT(sample.reference, HasSubstr("four hundred"));
  EXPECT_THAT(told_.str(), HasSubstr("400 training pairs, 20 validation pairs, vocabulary of 120 tokens"));
  const auto model = models::load<models::Transformer>(folder_ / "run");
  const auto tokenizer = text::Marian::load(folder_ / "run");
  EXPECT_EQ(model->config().src_vocab, tokenizer->vocab_size());
  const std::vector<std::vector<int64_t>> sources{tokenizer->encode(sample.input).ids};
  EXPECT_EQ(tokenizer->target().decode(models::translate(*model, sources, {.beams = 1})[0][0].tokens), sample.output);
}

TEST_F(TranslationTest, ResumesBitwiseExactly) {
  train(options("whole", 20));
  TranslationOptions given = options("parts", 20);
  int64_t asked = 0;
  given.run.interrupted = [&asked] { return ++asked > 7; };
  EXPECT_EQ(train(given).run.step, 7);
  given.run.interrupted = {};
  given.run.start = Start::resume;
  EXPECT_EQ(train(given).run.resumed_from, 7);
  EXPECT_EQ(bytes_of_run("parts"), bytes_of_run("whole"));
}

TEST_F(TranslationTest, PlansFewerStepsIfTimeIsShort) {
  TranslationOptions given = options("run", 90);
  given.run.start = Start::overwrite;
  given.batch_tokens = 40;
  given.run.evaluate_every = 90;
  given.time_budget = 1e-6;
  EXPECT_EQ(train(given).run.step, 50) << "the minimum";
  EXPECT_THAT(told_.str(), HasSubstr(" ms per step: 50 steps instead of 90, to stay within 0 s\n"));
  EXPECT_THAT(read_text(folder_ / "run/log.jsonl"), HasSubstr(R"("steps":50,)")) << "the schedule is shorter as well";
  given.run.steps = 41;
  EXPECT_EQ(train(given).run.step, 41) << "no more than requested";
  told_.str("");
  given.run.steps = 52;
  given.time_budget = std::numeric_limits<double>::infinity();
  EXPECT_EQ(train(given).run.step, 52);
  EXPECT_THAT(told_.str(), testing::Not(HasSubstr("instead of")));
}

TEST_F(TranslationTest, MeasuringItsSpeedChangesNothing) {
  TranslationOptions given = options("measured", 60);
  given.run.interrupted = [asked = 0]() mutable { return ++asked > 20; };
  given.time_budget = 1e6;
  TranslationOptions plain = given;
  plain.run.out = folder_ / "plain", plain.time_budget = 0;
  train(given), train(plain);
  EXPECT_EQ(bytes_of_run("measured"), bytes_of_run("plain"));
}

TEST_F(TranslationTest, KeepsItsPlanOnResumeAtAnySpeed) {
  TranslationOptions whole = options("whole", 90);
  whole.batch_tokens = 40;
  whole.run.evaluate_every = 20;
  whole.time_budget = 1e-6;
  train(whole);
  TranslationOptions parts = whole;
  parts.run.out = folder_ / "parts";
  int64_t asked = 0;
  parts.run.interrupted = [&] { return ++asked == 4; };
  EXPECT_EQ(train(parts).run.reason, StopReason::interrupted);
  parts.run.interrupted = {};
  parts.run.start = Start::resume;
  parts.time_budget = 1e6;
  train(parts);
  const auto last = [this](const std::string& run) {
    return bytes_of_state(load_checkpoint(fmt::format("{}/checkpoint-50", folder_ / run)).model);
  };
  EXPECT_EQ(last("parts"), last("whole"));
  EXPECT_THAT(read_text(folder_ / "parts/checkpoint-50/trainer_state.json"), HasSubstr(R"("planned")"));
}

TEST_F(TranslationTest, RefusesANegativeTimeBudget) {
  TranslationOptions given = options("run", 2);
  for (const double budget : {-0.5, std::numeric_limits<double>::quiet_NaN()}) {
    given.time_budget = budget;
    EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                      fmt::format("train translation: time_budget must not be negative, got {}", budget));
  }
}

TEST_F(TranslationTest, ReportsSkippedPairs) {
  write_text(folder_ / "train.de", "eins\n\ndrei drei drei drei drei drei drei drei drei drei drei drei\nvier\n");
  write_text(folder_ / "train.en", "one\ntwo\nthree\nfour\n");
  TranslationOptions given = options("run", 2);
  given.max_length = 12;
  train(given);
  EXPECT_THAT(told_.str(), HasSubstr("train.de: 1 of 4 pairs skipped: empty source 1"));
  EXPECT_THAT(told_.str(), HasSubstr("train.de: 1 of 3 examples skipped: too long"));
  EXPECT_THAT(told_.str(), HasSubstr("2 training pairs"));
}

TEST_F(TranslationTest, ReportsTextWithoutATokenInTheTokenizer) {
  write_text(folder_ / "valid.tsv", "eins 漢\tone\nzwei\ttwo 字\n");
  train(options("run", 1));
  EXPECT_THAT(told_.str(), HasSubstr("valid.tsv: 2 of "));
  EXPECT_THAT(told_.str(), HasSubstr(" tokens are unknown to the model and read as \"<unk>\": "));
  EXPECT_THAT(told_.str(), HasSubstr("\"字\""));
  EXPECT_THAT(told_.str(), testing::Not(HasSubstr("train.de: ")));
}

TEST_F(TranslationTest, IgnoresPaddingTokensInTexts) {
  write_text(folder_ / "train.tsv", "eins <pad>\tone\nzwei <pad><pad>\ttwo <pad>\n<pad>\t<pad>\n");
  write_text(folder_ / "valid.tsv", "eins <pad>\tone <pad>\n");
  TranslationOptions given = options("run", 2);
  given.train = {.tsv = folder_ / "train.tsv"};
  train(given);
  EXPECT_THAT(told_.str(), HasSubstr("train.tsv: 6 padding tokens within texts are ignored: \"<pad>\"\n"));
  EXPECT_THAT(told_.str(), HasSubstr("valid.tsv: 2 padding tokens within texts are ignored: \"<pad>\"\n"));
  EXPECT_THAT(told_.str(), HasSubstr("3 training pairs, 1 validation pairs"));
}

TEST_F(TranslationTest, DoesNotResumeWithOtherSettings) {
  train(options("run", 10));
  TranslationOptions given = options("run", 20);
  given.run.start = Start::resume;
  write_text(folder_ / "train.en", read_text(folder_ / "train.en") + "\n");
  write_text(folder_ / "train.de", read_text(folder_ / "train.de") + "\n");
  given.norm = nn::NormPlace::post;
  given.label_smoothing = 0.25;
  try {
    train(given);
    ADD_FAILURE() << "accepted other files";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    for (const char* part : {"settings differ from those of the run: src ", "train.de (", "; tgt ",
                             "; label_smoothing 0.1 then, 0.25 now; norm pre "
                             "then, post now; use --allow-changes"})
      EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST_F(TranslationTest, RefusesMissingTextsAndUnknownPresets) {
  TranslationOptions given = options("run", 20);
  given.train.tsv = folder_ / "valid.tsv";
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    "train translation: training: give two files or one TSV, not both");
  given = options("run", 20);
  given.valid = {};
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    "train translation: validation: give a source and a target file, one TSV, or one file of records");
  given = options("run", 20);
  given.run.preset = "huge";
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    "train translation: unknown preset \"huge\"; known: tiny, small, base");
  given = options("run", 0);
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config, "train: steps must be at least 1, got 0");
  given = options("run", 5);
  given.run.warmup = 6;
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config, "train: warmup must be from 0 to 5 (steps), got 6");
  given = options("run", 5);
  given.max_length = 1;
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config, "train translation: max_length must be at least 2, got 1");
}

TEST_F(TranslationTest, CanBeExaminedByTheDoctor) {
  const Diagnosis diagnosis = examine_translation(options("none", 400), told_);
  EXPECT_TRUE(diagnosis.can_learn);
  EXPECT_LT(diagnosis.last_loss, diagnosis.first_loss);
  EXPECT_FALSE(fs::exists(folder_ / "none"));
}

TEST_F(TranslationTest, ReadsPairsFromRecords) {
  std::string pairs = "german,english\n";
  for (int64_t n = 0; n < 100; ++n)
    pairs += fmt::format("\"{}\",{}\n", text::german_number(n), text::english_number(n));
  write_text(folder_ / "train.csv", pairs);
  TranslationOptions given = options("run", 2);
  given.train = {.records = folder_ / "train.csv", .fields = {.source = "german", .target = "english"}};
  train(given);
  EXPECT_THAT(told_.str(), HasSubstr("100 training pairs, 20 validation pairs"));
  given.train.src = "x";
  given.run.start = Start::overwrite;
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    "train translation: training: give records, two files or one TSV, not several");
  given.train = {.records = "pairs.txt"};
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config,
                    "train translation: training: pairs.txt does not end with .jsonl, .ndjson, .csv or .tsv");
}

TEST_F(TranslationTest, ContinuesTrainingATranslator) {
  const double before = train(options("first", 20)).valid_loss;
  TranslationOptions given = options("more", 20);
  given.vocab_size = {};
  given.init = folder_ / "first";
  given.freeze = {"encoder.layers.0"};
  given.run.lr = 1e-6;
  given.run.average_last = {};
  EXPECT_NEAR(train(given).valid_loss, before, 1e-3) << "it starts from where the first run ended";
  const auto first = models::load<models::Transformer>(folder_ / "first"),
             more = models::load<models::Transformer>(folder_ / "more");
  const nn::StateDict then = first->state_dict(), now = more->state_dict();
  const std::string still = "encoder.layers.0.self_attention.query.weight", moved = "encoder.layers.1.norm1.weight";
  EXPECT_EQ(then.at(still).to_vector<float>(), now.at(still).to_vector<float>());
  EXPECT_NE(then.at(moved).to_vector<float>(), now.at(moved).to_vector<float>());
  EXPECT_EQ(read_text(folder_ / "first/vocab.json"), read_text(folder_ / "more/vocab.json"));
  given.run.steps = 30;
  given.run.start = Start::resume;
  EXPECT_EQ(train(given).run.resumed_from, 20);
  const auto refused = [&](auto&& change, const std::string& message) {
    TranslationOptions bad = options("bad", 2);
    bad.vocab_size = {};
    bad.init = folder_ / "first";
    change(bad);
    EXPECT_TAPE_ERROR(train(bad), ErrorKind::config, "train translation: " + message);
  };
  refused([](auto& o) { o.layers = 2; }, "layers cannot be set with init, whose model determines it");
  refused([](auto& o) { o.vocab_size = 90; }, "vocab_size cannot be set with init, whose model determines it");
  refused([](auto& o) { o.run.preset = "tiny"; }, "unknown preset \"tiny\"; known: fine-tune");
  refused([](auto& o) { o.max_length = 4000; },
          fmt::format("max_length must be at most 40, the positions of {}, got 4000", folder_ / "first"));
  refused([](auto& o) { o.init = {}, o.freeze = {"encoder"}; }, "freeze requires init");
}

}  // namespace
}  // namespace tape::train
