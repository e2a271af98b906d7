#include "train/memory/memory_fit.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "autograd/memory.h"
#include "tests/support/errors.h"
#include "tests/train/language_model_test.h"
#include "tests/train/memory_limit.h"

namespace tape::train {
namespace {

using testing::HasSubstr;

class MemoryFitTest : public LanguageModelTest {
 protected:
  LanguageModelOptions deep(const std::string& run) {
    LanguageModelOptions given = options(run, 4);
    given.layers = 6;
    given.context = 64;
    given.batch = 16;
    given.run.evaluate_every = 4;
    return given;
  }
  /// Peak bytes of tensors during a run.
  int64_t peak_of(const LanguageModelOptions& given, double* loss) {
    const int64_t before = memory_stats().live_bytes;
    reset_peak_memory();
    *loss = train(given).valid_loss;
    return memory_stats().peak_bytes - before;
  }
};

TEST_F(MemoryFitTest, RecomputesLayersAndThenSplitsBatches) {
  double plain_loss = 0, loss = 0;
  const int64_t plain = peak_of(deep("plain"), &plain_loss);
  const auto told_of = [&](const std::string& run, int64_t limit) {
    LanguageModelOptions given = deep(run);
    given.run.memory_limit = limit + memory_stats().live_bytes;
    told_.str("");
    EXPECT_LE(peak_of(given, &loss), limit) << run;
    EXPECT_NEAR(loss, plain_loss, 1e-4) << run;
    return told_.str();
  };
  EXPECT_THAT(told_of("roomy", 2 * plain), HasSubstr("layers keep their activations, batches are not split"));
  EXPECT_EQ(loss, plain_loss);
  EXPECT_THAT(told_of("less", plain * 7 / 10), HasSubstr("layers recompute their activations, batches are not split"));
  EXPECT_EQ(loss, plain_loss) << "bitwise equal";
  EXPECT_THAT(told_of("little", plain / 4),
              testing::ContainsRegex("layers recompute their activations, batches are split into [248]+ parts"));
}

TEST_F(MemoryFitTest, ResumesOnlyWithTheSameParts) {
  LanguageModelOptions given = deep("run");
  double loss = 0;
  const int64_t plain = peak_of(deep("plain"), &loss);
  given.run.memory_limit = plain / 4 + memory_stats().live_bytes;
  train(given);
  given.run.start = Start::resume;
  given.run.steps = 6;
  given.run.memory_limit = {};
  try {
    train(given);
    ADD_FAILURE() << "no error was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::ContainsRegex("parts [248]+ then, not set now"));
  }
}

TEST_F(MemoryFitTest, LeavesRoomForAccumulatedGradients) {
  const auto wide = [&](const std::string& run) {
    LanguageModelOptions given = deep(run);
    given.width = 128;
    given.context = 8;
    given.batch = 4;
    given.run.accumulate = 3;
    return given;
  };
  double plain_loss = 0, loss = 0;
  const int64_t plain = peak_of(wide("plain"), &plain_loss);
  // Whatever the limit, either the whole run fits or it is refused at once.
  for (int percent = 100; percent >= 80; percent -= 2) {
    LanguageModelOptions given = wide(fmt::format("run{}", percent));
    given.run.memory_limit = plain * percent / 100 + memory_stats().live_bytes;
    try {
      EXPECT_LE(peak_of(given, &loss), plain * percent / 100) << percent;
      EXPECT_NEAR(loss, plain_loss, 1e-4) << percent;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("a step with one example at a time does not fit")) << percent;
    }
  }
}

TEST_F(MemoryFitTest, SplitsTheBatchesOfAnEvaluation) {
  std::string documents_text;
  for (int64_t n = 0; n < 300; ++n) documents_text += fmt::format("{{\"text\": \"{}\"}}\n", text::english_number(n));
  write_text(folder_ / "numbers.jsonl", documents_text);
  for (const bool documents : {false, true})
    expect_within_limit(0.5, [&](std::optional<int64_t> limit) {
      LanguageModelOptions given = options(fmt::format("{}{}", documents ? "packed" : "text", limit ? 1 : 0), 2);
      given.context = 8;
      given.batch = documents ? 16 : 2;
      given.valid_fraction = 0.5;
      given.run.memory_limit = limit;
      if (documents) {
        given.text = folder_ / "numbers.jsonl";
        given.pack = true;
      }
      return train(given).valid_loss;
    });
}

TEST_F(MemoryFitTest, RefusesALimitThatNoStepFitsInto) {
  LanguageModelOptions given = deep("run");
  given.run.memory_limit = memory_stats().live_bytes + 300'000;
  EXPECT_TAPE_ERROR(
      train(given), ErrorKind::out_of_memory,
      fmt::format("train: a step with one example at a time does not fit into the memory limit of {:.1f} KiB",
                  static_cast<double>(*given.run.memory_limit) / 1024));
  given.run.memory_limit = 0;
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config, "train: memory_limit must be at least 1 byte, got 0");
}

TEST(Loader, DealsOutABatchsExamplesAmongItsParts) {
  BatchSource source(
      [](int64_t) {
        return std::vector<std::vector<int64_t>>{{0, 1, 2, 3, 4}, {5, 6}};
      },
      [](const std::vector<int64_t>& indices) { return std::make_shared<std::vector<int64_t>>(indices); }, 2);
  source.divide(3);
  std::vector<std::vector<int64_t>> items;
  std::vector<DataPosition> behind;
  for (int i = 0; i < 7; ++i) {
    const BatchSource::Item item = source.next();
    EXPECT_EQ(item.batch == nullptr, item.indices.empty());
    items.push_back(item.indices);
    behind.push_back(source.position());
  }
  EXPECT_EQ(items, (std::vector<std::vector<int64_t>>{{0, 3}, {1, 4}, {2}, {5}, {6}, {}, {0, 3}}));
  EXPECT_EQ(behind[1], (DataPosition{0, 0})) << "in the middle of a batch";
  EXPECT_EQ(behind[2], (DataPosition{0, 1}));
  source.seek({0, 1});
  EXPECT_EQ(source.next().indices, (std::vector<int64_t>{5}));
}

}  // namespace
}  // namespace tape::train
