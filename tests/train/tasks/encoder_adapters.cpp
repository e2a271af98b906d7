// Adapters in runs that train an encoder.
#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/statistics.h"
#include "base/file.h"
#include "models/adapters/adapter_folder.h"
#include "models/heads/classify.h"
#include "tests/support/tensors.h"
#include "tests/train/encoder_task.h"
#include "tests/train/labeled_files.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/tasks/classification.h"
#include "train/tasks/embedding.h"
#include "train/tasks/masked_lm.h"
#include "train/tasks/token_classification.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using Json = nlohmann::ordered_json;

std::map<std::string, Tensor> tensors_in(const std::string& folder) {
  return load_safetensors(fmt::format("{}/adapter_model.safetensors", folder)).tensors;
}
Json adapter_config_of(const std::string& folder) {
  return Json::parse(read_text(fmt::format("{}/adapter_config.json", folder)));
}
std::vector<std::string> saved_modules(const std::string& folder) {
  return adapter_config_of(folder)["modules_to_save"].get<std::vector<std::string>>();
}

class ClassificationAdapters : public EncoderTaskTest<ClassificationOptions, train_classification> {
 protected:
  ClassificationAdapters() : EncoderTaskTest(".tsv", labeled_text(240, 1), labeled_text(60, 2)) {}
  ClassificationOptions adapters(const std::string& init, const AdapterTraining& given = {}) const {
    ClassificationOptions options = with_init(init);
    options.adapters = given;
    return options;
  }
};

TEST_F(ClassificationAdapters, TrainOnlyThemselvesAndTheHead) {
  const std::string base = save_bert(folder_ / "bert");
  ClassificationOptions options = adapters(base, {.targets = {"all-linear"}});
  options.run.epochs = 30;
  const ClassificationResult result = train(options);
  EXPECT_GE(result.valid_accuracy, 0.9);
  EXPECT_TRUE(models::is_adapter_folder(run()));
  EXPECT_THAT(saved_modules(run()), ElementsAre("classifier"));
  const Json config = adapter_config_of(run());
  EXPECT_EQ(config["task_type"], "SEQ_CLS");
  EXPECT_EQ(config["base_model_name_or_path"], base);
  // The encoder is the folder's; the pooler has an adapter like the other layers.
  const auto model = models::load<models::SequenceClassifier>(run());
  EXPECT_THAT(model->config().labels, ElementsAre("german", "net", "number"));
  const nn::StateDict now = model->base->state_dict();
  for (const auto& [name, value] : models::load<models::Bert>(base)->state_dict())
    EXPECT_TRUE(tensors_equal(now.at(name), value)) << name;
  EXPECT_TRUE(now.contains("pooler.dense.lora.default.A"));
  // The saved model gives the same predictions.
  const auto tokenizer = text::load_tokenizer(run());
  const auto p = models::classify(*model, std::vector{tokenizer->encode("that only layers word").ids,
                                                      tokenizer->encode("once eight things seen").ids});
  EXPECT_GT(p[0][1], 0.5);
  EXPECT_GT(p[1][2], 0.5);
}

TEST_F(ClassificationAdapters, TrainModulesThatTheFolderLacksInFull) {
  ClassificationOptions options = adapters(save_bert(folder_ / "bert", false));
  options.pooling = nn::Pooling::first;
  options.run.steps = 2;
  train(options);
  EXPECT_THAT(saved_modules(run()), ElementsAre("bert.pooler", "classifier"));
  EXPECT_EQ(models::load<models::SequenceClassifier>(run())->config().pooling, nn::Pooling::first);
}

TEST_F(ClassificationAdapters, ResumeBitwiseExactly) {
  ClassificationOptions options =
      adapters(save_bert(folder_ / "bert"), {.lora = {.rank = 4, .alpha = 8, .dropout = 0.1}});
  options.run.steps = 20;
  options.run.evaluate_every = 10;
  options.run.out = run("whole");
  train(options);
  EXPECT_TRUE(models::is_adapter_folder(run("whole/checkpoint-20")));
  options.run.out = run("parts");
  int64_t asked = 0;
  options.run.interrupted = [&asked] { return ++asked > 13; };
  EXPECT_EQ(train(options).run.step, 13);
  options.run.interrupted = {};
  options.run.start = Start::resume;
  EXPECT_EQ(train(options).run.resumed_from, 13);
  const auto whole = tensors_in(run("whole/checkpoint-20")), parts = tensors_in(run("parts/checkpoint-20"));
  ASSERT_EQ(whole.size(), parts.size());
  for (const auto& [name, value] : whole) EXPECT_TRUE(tensors_equal(parts.at(name), value)) << name;
  // Settings differ with another base model.
  manual_seed(8);
  models::save(folder_ / "bert", models::Bert(small_bert()));
  options.run.steps = 30;
  try {
    train(options);
    ADD_FAILURE() << "the base model is a different one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("below"));
  }
}

TEST_F(ClassificationAdapters, RefuseAnotherBaseModelInShards) {
  const auto save_in_shards = [this](uint64_t seed) {
    manual_seed(seed);
    models::save(folder_ / "bert", models::Bert(small_bert()), {.max_shard_bytes = 20'000});
  };
  ClassificationOptions options = adapters(save_bert(folder_ / "bert"));
  save_in_shards(1);
  options.run.steps = 2;
  train(options);
  options.run.start = Start::resume;
  options.run.steps = 3;
  EXPECT_EQ(train(options).run.resumed_from, 2);
  save_in_shards(2);
  options.run.steps = 4;
  try {
    train(options);
    ADD_FAILURE() << "the base model is a different one";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("below"));
  }
}

TEST_F(ClassificationAdapters, AreMergedIntoARunThatStartsFromThem) {
  ClassificationOptions options = adapters(save_bert(folder_ / "bert"));
  options.run.steps = 20;
  train(options);
  ClassificationOptions on = with_init(run());
  on.run.out = run("on");
  on.run.steps = 1, on.run.lr = 1e-9;
  train(on);
  EXPECT_THAT(printed_.str(), HasSubstr("(from the folder's classifier)"));
  EXPECT_FALSE(models::is_adapter_folder(run("on")));
  const auto before = models::load<models::SequenceClassifier>(run()),
             after = models::load<models::SequenceClassifier>(run("on"));
  const std::vector<std::vector<int64_t>> ids{text::load_tokenizer(run())->encode("once eight things seen").ids};
  EXPECT_NEAR(models::classify(*after, ids)[0][0], models::classify(*before, ids)[0][0], 1e-5);
}

TEST_F(ClassificationAdapters, RemoveTheRunThatTheyReplace) {
  const std::string base = save_bert(folder_ / "bert");
  ClassificationOptions whole = with_init(base);
  whole.run.steps = 1;
  train(whole);
  ClassificationOptions options = adapters(base);
  options.run.steps = 1;
  options.run.start = Start::overwrite;
  train(options);
  EXPECT_FALSE(fs::exists(run() + "/model.safetensors"));
  EXPECT_TRUE(models::is_adapter_folder(run()));
  whole.run.start = Start::overwrite;
  train(whole);
  EXPECT_FALSE(fs::exists(run() + "/adapter_config.json"));
  EXPECT_FALSE(fs::exists(run() + "/adapter_model.safetensors"));
}

TEST_F(ClassificationAdapters, RefuseUnsupportedCombinations) {
  ClassificationOptions options = from_scratch();
  options.adapters = AdapterTraining{};
  refuses(options, "train classifier: adapters require init: a base model to adapt");
  const std::string base = save_bert(folder_ / "bert");
  options = adapters(base);
  options.freeze = 1;
  refuses(options, "train classifier: freeze cannot be combined with adapters, which freeze the model already");
  refuses(adapters(base, {.targets = {"classifier"}}),
          "add_adapter: no Linear layer matches the target \"classifier\"; their names end in dense, key, linear1, "
          "linear2, "
          "output, query, value");
  options = adapters(base);
  options.run.preset = "fine-tune";
  refuses(options, "train classifier: unknown preset \"fine-tune\"; known: adapters");
  options = adapters(base);
  options.run.out = base;
  options.run.start = Start::overwrite;
  EXPECT_TAPE_ERROR(train(options), ErrorKind::config,
                    base + ": this command reads from that folder; choose another output folder");
  options = adapters(base);
  options.run.steps = 1;
  train(options);
  options.init = run();
  options.run.out = run("on");
  refuses(options, fmt::format("train classifier: {} contains adapters, but new ones need a whole model; merge "
                               "them with tapeformer merge",
                               run()));
}

class TokenAdapters : public EncoderTaskTest<TokenClassificationOptions, train_token_classification> {
 protected:
  TokenAdapters()
      : EncoderTaskTest(".conll", "seven x B-NUM\neight x I-NUM\nthings x O\n\nonce x O\nseven x B-NUM\n",
                        "once x O\nseven x B-NUM\n") {}
};

TEST_F(TokenAdapters, TrainATokenClassifier) {
  TokenClassificationOptions options = with_init(save_bert(folder_ / "bert"));
  options.adapters = AdapterTraining{};
  options.run.steps = 2;
  train(options);
  EXPECT_EQ(adapter_config_of(run())["task_type"], "TOKEN_CLS");
  EXPECT_THAT(saved_modules(run()), ElementsAre("classifier"));
  EXPECT_THAT(models::load<models::TokenClassifier>(run())->config().labels, ElementsAre("B-NUM", "I-NUM", "O"));
}

class WordAdapters : public EncoderTaskTest<MaskedLMOptions, train_masked_lm> {
 protected:
  WordAdapters() : EncoderTaskTest(".txt", labeled_text(40, 1), labeled_text(10, 2)) {}
};

TEST_F(WordAdapters, RequireALanguageModelingHeadAndDoNotChangeIt) {
  MaskedLMOptions options = with_init(save_bert(folder_ / "bert"));
  options.adapters = AdapterTraining{.targets = {"all-linear"}};
  refuses(options, fmt::format("train mlm: {} has no language modeling head; with adapters the model is frozen, so a "
                               "new head would stay untrained",
                               options.init));
  models::save(folder_ / "masked", models::MaskedLanguageModel(small_bert()));
  add_tokenizer(folder_ / "masked");
  options.init = folder_ / "masked";
  options.run.steps = 2;
  train(options);
  EXPECT_TRUE(adapter_config_of(run())["modules_to_save"].is_null());
  EXPECT_TRUE(adapter_config_of(run())["task_type"].is_null());
  EXPECT_EQ(tensors_in(run()).size(), 2U * 3 * 6);
  EXPECT_EQ(nn::adapter_names(*models::load<models::MaskedLanguageModel>(run())).size(), 1U);
}

class VectorAdapters : public EncoderTaskTest<TextEmbeddingOptions, train_text_embedding> {
 protected:
  VectorAdapters() : EncoderTaskTest(".tsv", labeled_text(40, 1), labeled_text(10, 2)) {}
};

TEST_F(VectorAdapters, AreSavedForTheEncoderWithItsPooling) {
  TextEmbeddingOptions options = with_init(save_bert(folder_ / "bert"));
  options.adapters = AdapterTraining{};
  options.pooling = nn::Pooling::first;
  options.run.steps = 4;
  train(options);
  EXPECT_EQ(adapter_config_of(run())["task_type"], "FEATURE_EXTRACTION");
  EXPECT_EQ(adapter_config_of(run())["target_modules"], Json({"query", "value"}));
  EXPECT_TRUE(models::is_adapter_folder(run()));
  EXPECT_TRUE(models::is_adapter_folder(run() + "/checkpoint-4"));
  const auto model = models::load_sentence_encoder(run());
  EXPECT_EQ(model->config().pooling, std::vector{models::SentencePooling::cls});
  EXPECT_TRUE(model->config().normalize);
  const auto bare = models::load<models::EncoderModel>(run());
  const std::vector<std::vector<int64_t>> ids{text::load_tokenizer(run())->encode("once eight things seen").ids};
  const Tensor of_ids = from_vector(ids[0], {1, std::ssize(ids[0])});
  const Tensor first = (*bare)(of_ids)[0][0];
  EXPECT_TRUE(tensors_near((*model)(of_ids)[0], first / norm(first).item(), 1e-5));
}

TEST_F(VectorAdapters, LeaveThePoolerOfTransformersOut) {
  TextEmbeddingOptions options = with_init(save_bert(folder_ / "bert"));
  options.adapters = AdapterTraining{.targets = {"linear2"}};
  options.run.steps = 1;
  train(options);
  // "dense" would also match the pooler.
  EXPECT_THAT(
      adapter_config_of(run())["target_modules"].get<std::vector<std::string>>(),
      ElementsAre("encoder.layer.0.output.dense", "encoder.layer.1.output.dense", "encoder.layer.2.output.dense"));
}

TEST_F(VectorAdapters, LeaveNoFilesForARunOfAnotherTask) {
  TextEmbeddingOptions options = with_init(save_bert(folder_ / "bert"));
  options.run.steps = 1;
  train(options);
  for (const char* file : {"/modules.json", "/1_Pooling/config.json", "/2_Normalize"})
    EXPECT_TRUE(fs::exists(run() + file)) << file;
  std::ostringstream printed;
  train_classification({.run = {.out = run(), .start = Start::overwrite, .steps = 1},
                        .data = data(),
                        .valid = valid(),
                        .init = folder_ / "bert"},
                       printed, TerminalInfo{});
  for (const char* file : {"/modules.json", "/1_Pooling", "/2_Normalize", "/sentence_bert_config.json",
                           "/config_sentence_transformers.json"})
    EXPECT_FALSE(fs::exists(run() + file)) << file;
  EXPECT_EQ(models::load<models::SequenceClassifier>(run())->config().labels.size(), 3U);
}

}  // namespace
}  // namespace tape::train
