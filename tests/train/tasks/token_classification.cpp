#include "train/tasks/token_classification.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "models/heads/label_words.h"
#include "tests/train/encoder_task.h"
#include "tests/train/labeled_files.h"
#include "tests/train/memory_limit.h"
#include "tests/train/run_log.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/data/labeled.h"
#include "train/init/fine_tuning.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

/// Sentences of 4 to 9 words in CoNLL lines: "seven", or "seven" and following words, are a NUM, "gradients" is a NET.
std::string labeled_sentences(int64_t count, uint64_t seed) {
  const std::vector<std::string> plain{"that", "things", "only", "once", "seen", "word", "owners"};
  Generator draws(seed);
  std::string text;
  const auto add = [&text](const std::string& word, const char* label) {
    text += fmt::format("{} x {}\n", word, label);
  };
  for (int64_t i = 0; i < count; ++i) {
    const int64_t length = 4 + draws.below(6), place = 1 + draws.below(length - 1), kind = draws.below(3);
    for (int64_t k = 0; k < length; ++k) {
      if (k == place && kind == 0) add("gradients", "B-NET");
      if (k == place && kind == 1) add("seven", "B-NUM"), add("eight", "I-NUM");
      if (k == place && kind == 2) add("seven", "B-NUM");
      add(plain[static_cast<size_t>(draws.below(std::ssize(plain)))], "O");
    }
    text += "\n";
  }
  return text;
}

class TokenLabels : public EncoderTaskTest<TokenClassificationOptions, train_token_classification> {
 protected:
  TokenLabels() : EncoderTaskTest(".conll", labeled_sentences(200, 1), labeled_sentences(50, 2)) {}
  TokenClassificationOptions scratch() const {
    TokenClassificationOptions options = from_scratch();
    options.run.epochs = 6, options.run.lr = 5e-3;
    return options;
  }
  TokenClassificationOptions with_init(const std::string& init) const {
    TokenClassificationOptions options = EncoderTaskTest::with_init(init);
    options.run.steps = 1;
    return options;
  }
};

TEST_F(TokenLabels, EvaluatesWithinAMemoryLimit) {
  expect_within_limit(0.5, [&](std::optional<int64_t> limit) {
    TokenClassificationOptions options = scratch();
    options.run.out = run(limit ? "limited" : "free");
    options.run.epochs = {};
    options.run.steps = 2;
    options.batch = 2;
    options.run.memory_limit = limit;
    return train(options).valid_loss;
  });
}

TEST_F(TokenLabels, AreLearnedFromScratch) {
  const TokenClassificationResult result = train(scratch());
  EXPECT_GE(result.valid_accuracy, 0.97);
  ASSERT_TRUE(result.valid_f1);
  EXPECT_GE(*result.valid_f1, 0.9);
  EXPECT_EQ(result.run.step, 6 * 13);
  EXPECT_THAT(printed_.str(), HasSubstr("words and 4 labels, 50 validation sentences with "));
  EXPECT_THAT(printed_.str(), HasSubstr(" words, 13 batches per epoch\n"));
  EXPECT_THAT(printed_.str(), HasSubstr("the weights with the best entity F1 are kept\n"));
  const Json evaluation = events_of(run(), "eval").back();
  EXPECT_TRUE(evaluation["metrics"].contains("f1")) << evaluation.dump();
  EXPECT_TRUE(evaluation["metrics"].contains("accuracy"));
  EXPECT_THAT(events_of(run(), "confusion").back()["labels"].get<std::vector<std::string>>(),
              ElementsAre("B-NET", "B-NUM", "I-NUM", "O"));
  const Json config = Json::parse(read_text(run() + "/config.json"));
  EXPECT_EQ(config["architectures"][0], "BertForTokenClassification");
  EXPECT_EQ(config["id2label"], Json({{"0", "B-NET"}, {"1", "B-NUM"}, {"2", "I-NUM"}, {"3", "O"}}));
  // The saved model gives the same predictions.
  const auto model = models::load<models::TokenClassifier>(run());
  const auto tokenizer = text::load_tokenizer(run());
  const std::vector<std::string> words{"only", "seven", "eight", "things"};
  const std::vector<text::WordIds> placed{text::align_words(words, tokenizer->encode(text::joined_words(words)))};
  const std::vector<double> p = models::label_words(*model, placed)[0];
  ASSERT_EQ(p.size(), 16u);
  EXPECT_GT(p[3], 0.5);
  EXPECT_GT(p[4 + 1], 0.5);
  EXPECT_GT(p[8 + 2], 0.5);
}

TEST_F(TokenLabels, StartFromAnyEncoderAndKeepATokenClassifiersHead) {
  TokenClassificationOptions options = with_init(save_bert(folder_ / "bert"));
  options.freeze = 2;
  train(options);
  const Json config = Json::parse(read_text(run() + "/config.json"));
  EXPECT_EQ(config["architectures"][0], "BertForTokenClassification");
  EXPECT_TRUE(fs::exists(run() + "/vocab.txt"));
  // Its labels and its head are kept.
  TokenClassificationOptions on = with_init(run());
  on.run.out = run("on");
  on.run.lr = 1e-9;
  const double loss = train(on).valid_loss;
  EXPECT_NEAR(loss, events_of(run(), "eval").back()["loss"].get<double>(), 1e-4);
  write_text(data(), "a O\nb B-X\n\nc O\n");
  on.run.out = run("other");
  EXPECT_TAPE_ERROR(train(on), ErrorKind::format,
                    fmt::format("{}: line 2: unknown label \"B-X\"; known labels: B-NET, B-NUM, I-NUM, O, "
                                "the labels of {}; a new head would learn those of the file",
                                data(), run()));
  write_text(valid(), "a O\n");
  on.run.start = Start::overwrite;
  on.new_head = true;
  train(on);
  EXPECT_THAT(models::load<models::TokenClassifier>(run("other"))->config().labels, ElementsAre("B-X", "O"));
  // A head of another kind is discarded.
  manual_seed(3);
  models::save(folder_ / "texts", models::SequenceClassifier({.encoder = small_bert(), .num_labels = 3}));
  add_tokenizer(folder_ / "texts");
  EXPECT_FALSE(read_pretrained_token_classifier(folder_ / "texts").has_head());
  EXPECT_FALSE(read_pretrained_classifier(run("other")).has_head());
}

TEST_F(TokenLabels, AreOnlyAtFirstTokensOfWords) {
  const auto tokenizer = text::load_tokenizer(save_bert(folder_ / "bert"));
  write_text(data(), "layers A\nunbelievablyseven B\n\none A\none B\none B\n");
  const LabeledWordIds found = encode_labeled(text::read_conll(data()), *tokenizer, 4);
  ASSERT_EQ(found.words.size(), 2u);
  const LabeledBatch batch = collate_labeled(found, {1, 0}, 0);
  EXPECT_EQ(batch.rows, 2);
  EXPECT_EQ(batch.length, 4);
  // [CLS] one one [SEP]; [CLS] layers and the first token of the next word, whose other tokens are cut.
  EXPECT_THAT(batch.labels, ElementsAre(-100, 0, 1, -100, -100, 0, 1, -100));
  EXPECT_EQ(found.lost_words, 1);
  EXPECT_EQ(found.all_words, 5);
  EXPECT_EQ(found.tokens.cut(), 2);
}

TEST_F(TokenLabels, IgnorePaddingInTheLoss) {
  // The loss of a batch of sentences of different lengths is the mean over all words of their losses alone.
  TokenClassificationOptions options = scratch();
  options.run.epochs = {};
  options.run.steps = 1;
  options.run.lr = 1e-12;
  options.valid = data();
  options.batch = 200;
  const double alone = train(options).valid_loss;
  const Json step = events_of(run(), "step").at(0);
  EXPECT_NEAR(step["loss"].get<double>(), alone, 1e-6);
  int64_t words = 0;
  for (const auto& sentence : text::read_conll(data()).words) words += std::ssize(sentence);
  EXPECT_EQ(step["tokens"].get<int64_t>(), words);
}

TEST_F(TokenLabels, AreReportedIfCut) {
  TokenClassificationOptions options = with_init(save_bert(folder_ / "bert"));
  options.max_length = 4;
  std::string text = "seven B-NUM\n\n";
  for (int i = 0; i < 5; ++i) text += "one O\n";
  write_text(data(), text);
  write_text(valid(), "seven B-NUM\n");
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr(fmt::format("{}: 1 of 2 sentences cut to 4 tokens\n", data())));
  EXPECT_THAT(printed_.str(),
              HasSubstr(fmt::format("{}: 3 of 6 words have no token within the limit, and are omitted\n", data())));
}

TEST_F(TokenLabels, AreScoredByAccuracyWithoutBio) {
  write_text(data(), "only ADV\nseven NUM\n\nonly ADV\nthings NOUN\n\nseven NUM\nthings NOUN\n");
  write_text(valid(), "seven NUM\nthings NOUN\n");
  const TokenClassificationResult result = train(scratch());
  EXPECT_FALSE(result.valid_f1);
  EXPECT_THAT(printed_.str(), HasSubstr("the weights with the best accuracy are kept\n"));
  EXPECT_FALSE(events_of(run(), "eval").back()["metrics"].contains("f1"));
}

TEST_F(TokenLabels, AreReportedIfTheyViolateBio) {
  write_text(data(), "a O\nb I-X\n\nc B-X\nd I-X\n");
  write_text(valid(), "a O\n");
  TokenClassificationOptions options = scratch();
  options.run.epochs = 1;
  train(options);
  EXPECT_THAT(
      printed_.str(),
      HasSubstr(fmt::format("{}: 1 word with an I- label that continues no entity of its type: ignored\n", data())));
  EXPECT_THAT(printed_.str(), Not(HasSubstr(fmt::format("{}: 0 words", valid()))));
}

TEST_F(TokenLabels, UseSomeOfTheSentencesForValidation) {
  text::LabeledWords corpus = text::read_conll(data());
  const text::LabeledWords all = corpus, part = take_part(corpus, 0.1, 5, "x");
  EXPECT_EQ(part.size(), 20);
  EXPECT_EQ(corpus.size(), 180);
  for (size_t i = 0; i < part.line.size(); ++i) {
    const auto at = static_cast<size_t>(std::ranges::find(all.line, part.line[i]) - all.line.begin());
    EXPECT_EQ(part.words[i], all.words[at]);
    EXPECT_EQ(part.labels[i], all.labels[at]);
  }
  TokenClassificationOptions options = scratch();
  options.valid.clear();
  options.run.epochs = 1;
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr("180 training sentences with "));
}

TEST_F(TokenLabels, ResumeBitwiseExactly) {
  TokenClassificationOptions options = scratch();
  options.run.epochs = {};
  options.run.steps = 9;
  options.run.evaluate_every = 3;
  train(options);
  options.run.out = run("stopped");
  int64_t asked = 0;  // calls before each step
  options.run.interrupted = [&] { return ++asked == 5; };
  EXPECT_EQ(train(options).run.reason, StopReason::interrupted);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  write_text(folder_ / "copy.conll", labeled_sentences(200, 3));
  TokenClassificationOptions other = options;
  other.data = folder_ / "copy.conll";
  EXPECT_THROW(train(other), Error);  // other data
  EXPECT_EQ(train(options).run.step, 9);
  EXPECT_EQ(read_text(run("stopped") + "/model.safetensors"), read_text(run() + "/model.safetensors"));
}

TEST_F(TokenLabels, OverfitOneBatch) {
  printed_.str("");
  EXPECT_TRUE(examine_token_classification(scratch(), printed_).can_learn);
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(TokenLabels, RefuseInvalidOptionsAndLabels) {
  TokenClassificationOptions options = scratch();
  options.max_length = 0;
  refuses(options, "train tokens: max_length must be at least 1, got 0");
  options = scratch();
  options.freeze = 1;
  refuses(options, "train tokens: freeze requires init: a model from scratch has nothing to freeze");
  write_text(valid(), "a B-NONE\n");
  refuses(scratch(), fmt::format("{}: line 1: unknown label \"B-NONE\"; known labels: B-NET, B-NUM, I-NUM, O", valid()),
          ErrorKind::format);
  write_text(data(), "a O\nb O\n\nc O\n");
  refuses(scratch(), fmt::format("{}: all words have the label \"O\"; there must be at least two", data()));
}

}  // namespace
}  // namespace tape::train
