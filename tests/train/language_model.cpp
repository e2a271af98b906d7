#include "train/language_model.h"
#include "text/load_tokenizer.h"

#include <cmath>
#include <sstream>

#include <gmock/gmock.h>

#include "models/folder.h"
#include "models/generate.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/train/one_thread.h"
#include "tests/train/tiny_task.h"
#include "text/number_words.h"
#include "text/tokenizer.h"

namespace tape::train {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

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

TEST_F(LanguageModelTest, LeavesAFolderThatGenerates) {
  LanguageModelOptions given = options("run", 60);
  given.run.lr = 1e-2;
  const LanguageModelResult result = train(given);
  EXPECT_LT(result.valid_loss, 2) << "guessing would be 3.2";
  EXPECT_NEAR(result.run.evaluation->metrics.at("perplexity"), std::exp(result.valid_loss), 1e-9);
  EXPECT_THAT(told_.str(), HasSubstr("in the vocabulary"));
  const auto model = models::load<models::Gpt>(folder_ / "run");
  const auto tokenizer = text::load_tokenizer(folder_ / "run");
  EXPECT_EQ(model->config().vocab, tokenizer->vocab_size());
  const Sample& sample = result.run.evaluation->samples.front();
  EXPECT_EQ(sample.input.size(), 16u);
  const auto said = models::generate(*model, {tokenizer->encode(sample.input).ids},
                                     {.sampling = {.temperature = 0.8}, .max_new_tokens = 200, .seed = 1});
  EXPECT_EQ(tokenizer->decode(said.front().tokens), sample.output);
}

TEST_F(LanguageModelTest, LearnsPiecesOfABpe) {
  LanguageModelOptions given = options("run", 10);
  given.level = TokenLevel::bpe;
  given.vocab_size = 300;
  train(given);
  EXPECT_EQ(text::load_tokenizer(folder_ / "run")->vocab_size(), 300);
}

TEST_F(LanguageModelTest, ValidatesWithAFileOfItsOwn) {
  write_text(folder_ / "valid.txt", "nine hundred ninety-nine\n");
  LanguageModelOptions given = options("run", 10);
  given.valid = folder_ / "valid.txt";
  EXPECT_EQ(train(given).run.evaluation->samples.front().input, "nine hundred nin");
}

TEST_F(LanguageModelTest, GoesOnWithTheSameBits) {
  const auto model_of = [this](const std::string& run) {
    return bytes_of_state(load_checkpoint(fmt::format("{}/checkpoint-20", folder_ / run)).model);
  };
  LanguageModelOptions given = options("whole", 20);
  given.run.dropout = 0.1;
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

TEST_F(LanguageModelTest, ACheckpointIsAModelsFolderToo) {
  train(options("run", 20));
  const auto of_run = models::load<models::Gpt>(folder_ / "run");
  const auto of_checkpoint = models::load<models::Gpt>(folder_ / "run/checkpoint-20");
  EXPECT_EQ(bytes_of_state(of_checkpoint->state_dict()), bytes_of_state(of_run->state_dict()));
  EXPECT_EQ(text::load_tokenizer(folder_ / "run/checkpoint-20")->vocab_size(),
            text::load_tokenizer(folder_ / "run")->vocab_size());
}

TEST_F(LanguageModelTest, DoesNotGoOnWithAModelOfAnotherShape) {
  LanguageModelOptions given = options("run", 10);
  train(given);
  given.run.start = Start::resume;
  given.width = *given.width * 2;
  try {
    train(given);
    ADD_FAILURE() << "a model of twice the width took the checkpoint";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::format);
    EXPECT_THAT(error.what(), StartsWith(fmt::format("{}: ", folder_ / "run/checkpoint-10")));
    EXPECT_THAT(error.what(), HasSubstr("embeddings.token.weight"));
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
  EXPECT_TAPE_ERROR(train(given), ErrorKind::config, "train lm: the validation text has fewer than 2 tokens");
}

}  // namespace
}  // namespace tape::train
