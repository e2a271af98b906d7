#include "inspect/live/live_training.h"

#include <set>

#include "models/encoder_decoders/translator.h"
#include "tests/inspect/live/number_words_folder.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"
#include "text/corpus/number_words.h"
#include "text/tokenizers/characters.h"

namespace tape::inspect {
namespace {

class LiveTrainingTest : public testing::Test {
 protected:
  models::Translator loaded() const { return models::load_translator(folder_.path()); }

  const NumberWordsFolder folder_;
};

TEST_F(LiveTrainingTest, LowersTheLoss) {
  const models::Translator words = loaded();
  LiveTraining training(*words.model, *words.tokenizer, {.lr = 1e-2, .warmup = 5, .steps = 40});
  const double first = training.train();
  double last = 0;
  for (int i = 0; i < 39; ++i) last = training.train();
  EXPECT_LT(last, 0.7 * first);
  EXPECT_EQ(training.step(), 40);
  EXPECT_EQ(training.steps(), 40);
  EXPECT_NEAR(training.lr(), 1e-4, 5e-5);
  EXPECT_FALSE(words.model->is_training());
}

TEST_F(LiveTrainingTest, PartsMakeTheSameUpdateAsAWholeOne) {
  const models::Translator one = loaded(), other = loaded();
  LiveTraining whole(*one.model, *one.tokenizer), parts(*other.model, *other.tokenizer);
  for (int i = 0; i < 3; ++i) {
    const double loss = whole.train();
    EXPECT_EQ(parts.forward(), loss);
    EXPECT_FALSE(parts.batch().empty());
    EXPECT_EQ(parts.backward(), whole.grad_norm());
    parts.update();
    EXPECT_EQ(parts.lr(), whole.lr());
  }
  const Tensors expected = one.model->parameters(), got = other.model->parameters();
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(tensors_equal(got[i], expected[i]));
}

TEST_F(LiveTrainingTest, FinishesABegunUpdateFirst) {
  const models::Translator one = loaded(), other = loaded();
  LiveTraining whole(*one.model, *one.tokenizer), parts(*other.model, *other.tokenizer);
  whole.train();
  parts.forward();
  EXPECT_EQ(parts.train(), whole.train());
  EXPECT_EQ(parts.step(), 2);
}

TEST_F(LiveTrainingTest, RefusesPartsInAnotherOrder) {
  const models::Translator words = loaded();
  LiveTraining training(*words.model, *words.tokenizer);
  EXPECT_TAPE_ERROR(training.update(), ErrorKind::config,
                    "train_part: \"update\" was called, but the next part of the update is \"forward\"");
  training.forward();
  EXPECT_TAPE_ERROR(training.forward(), ErrorKind::config,
                    "train_part: \"forward\" was called, but the next part of the update is \"backward\"");
  training.backward();
  training.update();
}

TEST_F(LiveTrainingTest, NeverReadsHeldOutNumbers) {
  const models::Translator words = loaded();
  LiveTraining training(*words.model, *words.tokenizer, {.batch_tokens = 2000});
  std::set<std::string> seen;
  while (seen.size() < 800) {
    training.train();
    for (const LivePair& pair : training.batch()) seen.insert(pair.source);
  }
  const std::vector<LiveTraining::Sample> samples = training.test(1000);
  EXPECT_GE(samples.size(), 90u);
  for (const LiveTraining::Sample& sample : samples) EXPECT_FALSE(seen.contains(sample.pair.source));
  EXPECT_EQ(training.test(7).size(), 7u);
  EXPECT_TAPE_ERROR(training.test(0), ErrorKind::config, "test: count must be at least 1, got 0");
  int64_t held_out = 0;
  for (int64_t number = 0; number < 1000; ++number) {
    EXPECT_TRUE(LiveTraining::held_out(number) || !text::held_out(number));
    held_out += LiveTraining::held_out(number);
  }
  EXPECT_EQ(held_out, std::ssize(samples));
}

TEST_F(LiveTrainingTest, SupportsTokenizersOfNumberWords) {
  EXPECT_TRUE(LiveTraining::supports(*loaded().tokenizer));
  EXPECT_FALSE(LiveTraining::supports(*text::character_tokenizer("abc")));
}

}  // namespace
}  // namespace tape::inspect
