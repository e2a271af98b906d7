#pragma once

#include <sstream>

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/tiny_task.h"
#include "text/corpus/number_words.h"
#include "train/tasks/language_model.h"

namespace tape::train {

/// Trains on the names of the first numbers.
class LanguageModelTest : public testing::Test {
 protected:
  LanguageModelTest() {
    std::string text;
    for (int64_t n = 0; n < 300; ++n) text += fmt::format("{}\n", text::english_number(n));
    write_text(folder_ / "numbers.txt", text);
  }

  LanguageModelOptions options(const std::string& run, int64_t steps) {
    return {.run = {.out = folder_ / run, .steps = steps, .evaluate_every = 10},
            .text = folder_ / "numbers.txt",
            .context = 16,
            .batch = 8,
            .layers = 1,
            .width = 32,
            .heads = 2};
  }
  LanguageModelResult train(const LanguageModelOptions& given) { return train_language_model(given, told_, {}); }

  /// Checks that a run of 20 steps is bitwise equal to one that was stopped and resumed. Leaves `given` as the options
  /// of the resumed run, in "parts".
  void expect_same_bits_in_parts(LanguageModelOptions& given) {
    const auto model_of = [this](const std::string& run) {
      return bytes_of_state(load_checkpoint(fmt::format("{}/checkpoint-20", folder_ / run)).model);
    };
    given.run.out = folder_ / "whole";
    train(given);
    given.run.out = folder_ / "parts";
    int64_t asked = 0;
    given.run.interrupted = [&asked] { return ++asked > 13; };
    EXPECT_EQ(train(given).run.step, 13);
    given.run.interrupted = {};
    given.run.start = Start::resume;
    EXPECT_EQ(train(given).run.resumed_from, 13);
    EXPECT_EQ(model_of("parts"), model_of("whole"));
  }

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  std::ostringstream told_;
};

}  // namespace tape::train
