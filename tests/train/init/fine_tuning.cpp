#include "train/init/fine_tuning.h"

#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"
#include "tests/train/labeled_files.h"

namespace tape::train {
namespace {

namespace fs = std::filesystem;
using nn::Pooling;

const std::vector<std::string> kLabels{"no", "yes", "who knows"};

std::string with_pooling_file(const std::string& folder, const std::string& json) {
  fs::create_directory(fmt::format("{}/1_Pooling", folder));
  return write_text(fmt::format("{}/1_Pooling/config.json", folder), json);
}

TEST(FineTuning, StartsWithTheFoldersValuesAndANewHead) {
  TemporaryFolder folder;
  const auto bert = models::load<models::Bert>(save_bert(folder / "bert"));
  const PretrainedClassifier from = read_pretrained_classifier(folder / "bert");
  EXPECT_FALSE(from.has_head());
  manual_seed(1);
  const auto model = make_classifier(from, {.labels = kLabels, .dropout = 0.3});
  EXPECT_EQ(model->config().labels, kLabels);
  EXPECT_EQ(model->config().pooling, Pooling::first);
  EXPECT_EQ(std::get<models::BertConfig>(model->config().encoder).dropout, 0.3);
  EXPECT_EQ(std::get<models::BertConfig>(model->config().encoder).attention_dropout, 0.3);
  EXPECT_TRUE(model->is_training());
  const nn::StateDict values = model->state_dict();
  size_t same = 0;
  for (const auto& [name, value] : bert->state_dict())
    same += static_cast<bool>(tensors_equal(values.at(fmt::format("bert.{}", name)), value));
  EXPECT_EQ(same, bert->state_dict().size());
  EXPECT_EQ(values.size(), same + 2);
  EXPECT_EQ(to_string(values.at("head.classifier.weight").shape()), "[3, 16]");
}

TEST(FineTuning, ChoosesThePooling) {
  TemporaryFolder folder;
  const std::string with = save_bert(folder / "with"), without = save_bert(folder / "without", false);
  EXPECT_EQ(read_pretrained_classifier(with).config.pooling, Pooling::first);
  EXPECT_EQ(read_pretrained_classifier(with).pooling_reason, "the folder has a pooler");
  EXPECT_EQ(read_pretrained_classifier(without).config.pooling, Pooling::mean);
  EXPECT_EQ(make_classifier(read_pretrained_classifier(without), {.labels = kLabels})->config().pooling, Pooling::mean);
  // A pooler that the folder lacks is new.
  const auto first =
      make_classifier(read_pretrained_classifier(without), {.labels = kLabels, .pooling = Pooling::first});
  EXPECT_TRUE(first->base->pooler);
  with_pooling_file(with, "{\"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": true}");
  EXPECT_EQ(read_pretrained_classifier(with).config.pooling, Pooling::mean);
  EXPECT_EQ(read_pretrained_classifier(with).pooling_reason, "from 1_Pooling/config.json");
  with_pooling_file(with, "{\"pooling_mode_cls_token\": true}");
  EXPECT_EQ(read_pretrained_classifier(with).config.pooling, Pooling::first);
  with_pooling_file(with, "{\"pooling_mode_max_tokens\": true, \"pooling_mode_mean_tokens\": true}");
  EXPECT_TAPE_ERROR(
      read_pretrained_classifier(with), ErrorKind::config,
      fmt::format("{}: its pooling mode is max + mean, but a classifier supports only mean and cls", with));
}

TEST(FineTuning, StartsASentenceEncoderWithThePoolingAndPromptsOfItsFolder) {
  using models::SentencePooling;
  const PretrainedSentenceEncoder from = read_pretrained_sentence_encoder(fixture_path("sentence_encoders/prompt"));
  const auto model = begin_sentence_encoder(from, from.config.pooling);
  EXPECT_EQ(model->config().pooling,
            (std::vector{SentencePooling::mean, SentencePooling::cls, SentencePooling::weightedmean}));
  EXPECT_FALSE(model->config().include_prompt);
  EXPECT_EQ(model->config().text.default_prompt, "query");
  EXPECT_TRUE(model->config().normalize);
  EXPECT_EQ(model->width(), 24);
  // Checkpoints would not contain its weights.
  const std::string dense = fixture_path("sentence_encoders/dense");
  EXPECT_TAPE_ERROR(read_pretrained_sentence_encoder(dense), ErrorKind::config,
                    dense + "/modules.json: training a Dense or LayerNorm after the pooling is not supported");
}

TEST(FineTuning, KeepsTheHeadOfAClassifierWithTheSameLabels) {
  TemporaryFolder folder;
  manual_seed(3);
  const models::SequenceClassifier before(
      {.encoder = small_bert(), .num_labels = 3, .pooling = Pooling::mean, .labels = kLabels});
  models::save(folder / "mean", before);
  add_tokenizer(folder / "mean");
  const PretrainedClassifier from = read_pretrained_classifier(folder / "mean");
  EXPECT_TRUE(from.has_head());
  EXPECT_EQ(from.config.labels, kLabels);
  const auto kept = make_classifier(from, {.labels = kLabels});
  EXPECT_EQ(kept->config().pooling, Pooling::mean);
  EXPECT_TRUE(tensors_equal(kept->head->classifier->weight, before.head->classifier->weight));
  const auto other = make_classifier(from, {.labels = {"no", "yes", "perhaps"}});
  EXPECT_FALSE(tensors_equal(other->head->classifier->weight, before.head->classifier->weight));
}

TEST(FineTuning, AcceptsAMaskedLanguageModelAndRefusesNonEncoders) {
  TemporaryFolder folder;
  const models::MaskedLanguageModel masked(small_bert());
  models::save(folder / "masked", masked);
  add_tokenizer(folder / "masked");
  const PretrainedClassifier from = read_pretrained_classifier(folder / "masked");
  EXPECT_EQ(from.config.pooling, Pooling::mean);
  EXPECT_TRUE(tensors_equal(make_classifier(from, {.labels = kLabels})->base->embeddings->token->weight,
                            masked.base->embeddings->token->weight));
  models::save(folder / "gpt", models::Gpt({.vocab = 9, .d_model = 4, .layers = 1, .heads = 1}));
  EXPECT_TAPE_ERROR(
      read_pretrained_classifier(folder / "gpt"), ErrorKind::config,
      fmt::format("{}/config.json: describes a Gpt, but a classifier needs an encoder to start from", folder / "gpt"));
  models::BertConfig few = small_bert();
  few.vocab = 20;
  models::save(folder / "few", models::Bert(few));
  add_tokenizer(folder / "few");
  EXPECT_TAPE_ERROR(read_pretrained_classifier(folder / "few"), ErrorKind::config,
                    fmt::format("{}: the tokenizer has 450 tokens, but the model has 20 (vocab_size)", folder / "few"));
}

TEST(FineTuning, FreezesLayers) {
  models::SequenceClassifier model({.encoder = small_bert(), .num_labels = 2});
  freeze_layers(model, 2);
  for (const NamedTensor& named : model.named_parameters()) {
    const bool still = named.name.starts_with("bert.embeddings.") || named.name.starts_with("bert.encoder.layers.0.") ||
                       named.name.starts_with("bert.encoder.layers.1.");
    EXPECT_EQ(named.tensor.requires_grad(), !still) << named.name;
  }
  models::SequenceClassifier other({.encoder = small_bert(), .num_labels = 2});
  freeze_layers(other, 0);
  EXPECT_FALSE((*other.base->embeddings->position)->weight.requires_grad());
  EXPECT_TRUE(other.base->encoder->layers[0]->self_attention->query->weight.requires_grad());
  EXPECT_TAPE_ERROR(freeze_layers(model, 4), ErrorKind::config, "freeze: layers must be from 0 to 3, got 4");
  EXPECT_TAPE_ERROR(freeze_layers(model, -1), ErrorKind::config, "freeze: layers must be from 0 to 3, got -1");
}

}  // namespace
}  // namespace tape::train
