#pragma once

#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "text/number_words.h"
#include "train/language_model.h"

namespace tape::train {

/// Runs on the names of the first numbers.
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

  const OneThread one_thread_;
  const TemporaryFolder folder_;
  std::ostringstream told_;
};

}  // namespace tape::train
