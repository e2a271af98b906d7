#include "train/tasks/classification.h"
#include "text/corpus/labeled.h"
#include "text/tokenizers/load_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "models/heads/classify.h"
#include "tests/support/tensors.h"
#include "tests/train/encoder_task.h"
#include "tests/train/labeled_files.h"
#include "tests/train/memory_limit.h"
#include "tests/train/run_log.h"
#include "text/tokenizers/byte_level_bpe.h"
#include "train/data/labeled.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class Classification : public EncoderTaskTest<ClassificationOptions, train_classification> {
 protected:
  Classification() : EncoderTaskTest(".tsv", labeled_text(240, 1), labeled_text(60, 2)) {}
  ClassificationOptions scratch() const {
    ClassificationOptions options = from_scratch();
    options.run.dropout = 0.1;
    return options;
  }
};

TEST_F(Classification, EvaluatesWithinAMemoryLimit) {
  expect_within_limit(0.5, [&](std::optional<int64_t> limit) {
    ClassificationOptions options = scratch();
    options.run.out = run(limit ? "limited" : "free");
    options.run.epochs = {};
    options.run.steps = 2;
    options.batch = 2;
    options.run.memory_limit = limit;
    return train(options).valid_loss;
  });
}

TEST_F(Classification, LearnsFromScratch) {
  const ClassificationResult result = train(scratch());
  EXPECT_GE(result.valid_accuracy, 0.95);
  EXPECT_GE(result.valid_macro_f1, 0.95);
  EXPECT_LT(result.valid_loss, 0.3);
  EXPECT_EQ(result.run.step, 10 * 15);  // ten epochs of 240 lines
  EXPECT_THAT(printed_.str(),
              HasSubstr("240 training lines with 3 labels, 60 validation lines, 15 batches per epoch\n"));
  EXPECT_THAT(printed_.str(), HasSubstr("pooling: mean\n"));
  // The learning rate rises over a tenth of the steps and falls to 0; each epoch is validated.
  const std::vector<Json> steps = events_of(run(), "step"), evaluations = events_of(run(), "eval");
  ASSERT_EQ(steps.size(), 150u);
  EXPECT_NEAR(steps[14]["lr"].get<double>(), 3e-3, 1e-12);
  EXPECT_NEAR(steps[0]["lr"].get<double>(), 2e-4, 1e-12);
  EXPECT_EQ(steps[149]["lr"].get<double>(), 0);
  EXPECT_EQ(evaluations.size(), 10u);
  EXPECT_EQ(evaluations[1]["step"].get<int64_t>(), 30);
  const Json confusion = events_of(run(), "confusion").back();
  EXPECT_THAT(confusion["labels"].get<std::vector<std::string>>(), ElementsAre("german", "net", "number"));
  int64_t counted = 0;
  for (const auto& row : confusion["counts"])
    for (const auto& count : row) counted += count.get<int64_t>();
  EXPECT_EQ(counted, 60);
  // The saved model gives the same predictions.
  const auto model = models::load<models::SequenceClassifier>(run());
  const auto tokenizer = text::load_tokenizer(run());
  EXPECT_EQ(tokenizer->token(tokenizer->special().pad), "<|pad|>");
  EXPECT_EQ(model->base->options().padding_id, tokenizer->special().pad);
  const auto p = models::classify(*model, std::vector{tokenizer->encode("that only layers word").ids,
                                                      tokenizer->encode("once eight things seen").ids});
  EXPECT_GT(p[0][1], 0.5);
  EXPECT_GT(p[1][2], 0.5);
}

TEST_F(Classification, StartsFromAFolder) {
  ClassificationOptions options = with_init(save_bert(folder_ / "bert"));
  options.freeze = 1;
  options.run.layer_decay = 0.9;
  options.run.epochs = 30;
  const ClassificationResult result = train(options);
  EXPECT_GE(result.valid_accuracy, 0.9);
  EXPECT_EQ(result.run.step, 450);
  EXPECT_THAT(printed_.str(), HasSubstr("pooling: first (the folder has a pooler)\n"));
  EXPECT_THAT(printed_.str(), Not(HasSubstr("transformers has no class")));
  const auto before = models::load<models::Bert>(folder_ / "bert");
  const auto after = models::load<models::SequenceClassifier>(run());
  EXPECT_THAT(after->config().labels, ElementsAre("german", "net", "number"));
  const nn::StateDict now = after->base->state_dict();
  for (const auto& [name, value] : before->state_dict()) {
    const bool still = name.starts_with("embeddings.") || name.starts_with("encoder.layers.0.");
    // The bias of keys has no effect, so no gradient.
    if (name.ends_with("key.bias")) continue;
    EXPECT_EQ(static_cast<bool>(tensors_equal(now.at(name), value)), still) << name;
  }
  const Json config = Json::parse(read_text(fmt::format("{}/config.json", run())));
  EXPECT_EQ(config["architectures"][0], "BertForSequenceClassification");
  EXPECT_EQ(config["label2id"], Json({{"german", 0}, {"net", 1}, {"number", 2}}));
  EXPECT_TRUE(fs::exists(fmt::format("{}/vocab.txt", run())));
}

TEST_F(Classification, ContinuesWithAClassifiersLabels) {
  ClassificationOptions options = scratch();
  options.run.epochs = 1;
  train(options);
  ClassificationOptions on = with_init(run());
  on.run.out = run("on");
  on.run.steps = 1;
  on.run.lr = 1e-9;
  const double loss = train(on).valid_loss;
  EXPECT_NEAR(loss, events_of(run(), "eval").back()["loss"].get<double>(), 1e-4);
  EXPECT_THAT(printed_.str(), HasSubstr("pooling: mean (from the folder's classifier)\n"));
  write_text(data(), "gradients\tnet\na daisy\tplant\nnine\tnumber\n");
  write_text(valid(), "gradients\tnet\n");
  on.run.out = run("other");
  EXPECT_TAPE_ERROR(train(on), ErrorKind::format,
                    fmt::format("{}: line 2: unknown label \"plant\"; known labels: german, net, number, the "
                                "labels of {}; a new head would learn those of the file",
                                data(), run()));
  on.run.start = Start::overwrite;
  on.new_head = true;
  train(on);
  EXPECT_THAT(models::load<models::SequenceClassifier>(run("other"))->config().labels,
              ElementsAre("net", "number", "plant"));
}

TEST_F(Classification, UsesSomeOfTheLinesForValidation) {
  write_text(data(), labeled_text(50, 3));
  text::LabeledCorpus corpus = text::read_labeled(data());
  const text::LabeledCorpus all = corpus;
  const text::LabeledCorpus part = take_part(corpus, 0.2, 5, "x");
  EXPECT_EQ(part.size() + corpus.size(), 50);
  EXPECT_EQ(part.label_names, all.label_names);
  for (int64_t label = 0; label < 3; ++label) {
    const auto n = static_cast<double>(std::ranges::count(all.labels, label));
    EXPECT_EQ(std::ranges::count(part.labels, label), std::llround(0.2 * n));
  }
  std::vector<int64_t> lines = part.line;
  lines.insert(lines.end(), corpus.line.begin(), corpus.line.end());
  std::ranges::sort(lines);
  EXPECT_EQ(lines, all.line);
  EXPECT_TRUE(std::ranges::is_sorted(part.line));
  for (size_t i = 0; i < part.line.size(); ++i) {
    const auto at = static_cast<size_t>(part.line[i] - 1);
    EXPECT_EQ(part.sentences[i], all.sentences[at]);
    EXPECT_EQ(part.labels[i], all.labels[at]);
  }
  text::LabeledCorpus again = all, other = all;
  EXPECT_EQ(take_part(again, 0.2, 5, "x").line, part.line);
  EXPECT_NE(take_part(other, 0.2, 6, "x").line, part.line);
  ClassificationOptions options = scratch();
  options.valid.clear();
  options.run.steps = 1;
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr("45 training lines with 3 labels, 5 validation lines"));
}

TEST_F(Classification, CutsAndCountsLongLines) {
  ClassificationOptions options = with_init(save_bert(folder_ / "bert"));
  options.run.steps = 1;
  std::string lines = "layers\tnet\nseven eight\tnumber\n";
  for (int i = 0; i < 30; ++i) lines += i == 0 ? "one" : " one";
  write_text(data(), lines + "\tnet\n");
  write_text(valid(), lines + "\tnet\n");
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr(fmt::format("{}: 1 of 3 lines cut to 24 tokens\n", data())));
  EXPECT_THAT(printed_.str(), HasSubstr(fmt::format("{}: 1 of 3 lines cut to 24 tokens\n", valid())));
  options.run.start = Start::overwrite;
  options.max_length = 4;  // two words and special tokens
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr(fmt::format("{}: 1 of 3 lines cut to 4 tokens\n", data())));
}

TEST_F(Classification, ReportsTextWithoutATokenInTheTokenizer) {
  ClassificationOptions options = with_init(save_bert(folder_ / "bert"));
  options.run.steps = 1;
  write_text(data(), "layers 漢\tnet\nseven eight\tnumber\n");
  write_text(valid(), "layers\tnet\n");
  train(options);
  EXPECT_THAT(printed_.str(), HasSubstr(fmt::format("{}: 1 of ", data())));
  EXPECT_THAT(printed_.str(), HasSubstr("tokens is unknown to the model and read as \"[UNK]\": \"漢\"\n"));
  EXPECT_THAT(printed_.str(), Not(HasSubstr(fmt::format("{}: 1 of ", valid()))));
}

TEST_F(Classification, PadsRowsAndMasksThePadding) {
  LabeledIds lines;
  lines.ids = {{5, 6, 7}, {}, {8}};
  lines.labels = {2, 0, 1};
  for (const std::vector<int64_t>& ids : lines.ids) lines.lengths.push_back({.source = std::ssize(ids)});
  const LabeledBatch batch = collate_labeled(lines, {2, 0}, 9);
  EXPECT_THAT(batch.ids, ElementsAre(8, 9, 9, 5, 6, 7));
  EXPECT_THAT(batch.seen, ElementsAre(1, 0, 0, 1, 1, 1));
  EXPECT_THAT(batch.labels, ElementsAre(1, 2));
  EXPECT_EQ(collate_labeled(lines, {1}, 9).length, 1);
}

TEST_F(Classification, IgnoresPaddingInTheLoss) {
  // The loss of a batch of lines of different lengths is the mean of each line's own loss.
  ClassificationOptions options = scratch();
  options.run.steps = 1;
  options.run.lr = 1e-12;
  options.run.dropout = 0;
  options.valid = data();
  options.batch = 240;
  const double alone = train(options).valid_loss;
  EXPECT_NEAR(events_of(run(), "step").at(0)["loss"].get<double>(), alone, 1e-6);
}

TEST_F(Classification, ResumesBitwiseExactly) {
  ClassificationOptions options = scratch();
  options.run.steps = 12;
  options.run.evaluate_every = 4;
  train(options);
  options.run.out = run("stopped");
  int64_t asked = 0;  // calls before each step
  options.run.interrupted = [&] { return ++asked == 6; };
  EXPECT_EQ(train(options).run.reason, StopReason::interrupted);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  const ClassificationResult result = train(options);
  EXPECT_EQ(result.run.resumed_from, 5);
  EXPECT_EQ(result.run.step, 12);
  EXPECT_EQ(read_text(run("stopped") + "/model.safetensors"), read_text(run() + "/model.safetensors"));
}

TEST_F(Classification, OverfitsOneBatch) {
  printed_.str("");
  const Diagnosis diagnosis = examine_classification(scratch(), printed_);
  EXPECT_TRUE(diagnosis.can_learn);
  EXPECT_FALSE(fs::exists(run()));
}

TEST_F(Classification, RefusesInvalidLines) {
  const ClassificationOptions options = scratch();
  write_text(valid(), "gradients\tnet\na daisy\tplant\n");
  refuses(options, fmt::format("{}: line 2: unknown label \"plant\"; known labels: german, net, number", valid()),
          ErrorKind::format);
  write_text(valid(), "");
  refuses(options, fmt::format("{}: the file has no examples", valid()));
  write_text(data(), "a dog\tpet\na cat\tpet\n");
  refuses(options, fmt::format("{}: all 2 lines have the label \"pet\"; a classifier needs at least two", data()));
  write_text(data(), "a dog\tpet\na saw\ttool\n");
  ClassificationOptions split = options;
  split.valid.clear();
  refuses(split, fmt::format("{}: too few examples to use a fraction of 0.1 for validation: 2", data()));
  split.valid_fraction = 1;
  refuses(split, fmt::format("{}: valid_fraction must be between 0 and 1, got 1", data()));
}

TEST_F(Classification, NamesAnInvalidOption) {
  const auto refused = [this](const std::string& sentence, auto&& change, bool init = false) {
    ClassificationOptions options = init ? with_init(folder_ / "bert") : scratch();
    change(options);
    refuses(options, fmt::format("train classifier: {}", sentence));
  };
  using Options = ClassificationOptions;
  ClassificationOptions length = scratch();
  length.run.epochs = -1;
  refuses(length, "train: epochs must be greater than 0 and below 1,000,000, got -1");
  length.run.epochs = 1;
  length.run.steps = 1;
  refuses(length, "train: epochs and steps cannot both be set: each is the length of the run");
  refused("valid_fraction cannot be combined with a validation file", [](Options& o) { o.valid_fraction = 0.1; });
  refused("batch must be at least 1, got 0", [](Options& o) { o.batch = 0; });
  refused("batch_tokens must be at least 1, got 0", [](Options& o) { o.batch_tokens = 0; });
  refused("batch_tokens must be at least max_length, 256, got 100", [](Options& o) { o.batch_tokens = 100; });
  refused("layers must be at least 1, got -2", [](Options& o) { o.layers = -2; });
  refused("freeze requires init: a model from scratch has nothing to freeze", [](Options& o) { o.freeze = 1; });
  refused("layer_decay requires init", [](Options& o) { o.run.layer_decay = 0.9; });
  refused("new_head requires init", [](Options& o) { o.new_head = true; });
  refused("unknown preset \"large\"; known: small", [](Options& o) { o.run.preset = "large"; });
  save_bert(folder_ / "bert");
  refused(
      "width cannot be set with init, whose model determines it", [](Options& o) { o.width = 8; }, true);
  refused(
      fmt::format("max_length must be at most 24, the positions of {}, got 25", folder_ / "bert"),
      [](Options& o) { o.max_length = 25; }, true);
  refused(
      "unknown preset \"small\"; known: fine-tune", [](Options& o) { o.run.preset = "small"; }, true);
}

}  // namespace
}  // namespace tape::train
