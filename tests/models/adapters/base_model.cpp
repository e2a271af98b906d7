// Adapters of classifiers and of encoders, loaded onto base models of other classes.
#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "models/adapters/part.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

/// A copy of the adapters in tests/fixtures/adapters, next to a copy of their base model.
class AdapterBase : public testing::Test {
 protected:
  std::string place(const std::string& name, const std::string& below) const {
    const auto all = fs::copy_options::recursive;
    fs::copy(fixture_path(fmt::format("hugging_face/{}", below)), folder_ / "below", all);
    fs::copy(fixture_path(fmt::format("adapters/{}", name)), folder_ / name, all);
    const std::string file = folder_ / name + "/adapter_config.json";
    change(file, fmt::format("tests/fixtures/hugging_face/{}", below), "../below");
    return folder_ / name;
  }
  static void change(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = read_text(file);
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(file, text.replace(at, from.size(), to));
  }
  static Tensor ids(const std::string& name) { return fixture_tensors("adapters/" + name + "/expected").at("in.ids"); }
  static Tensor expected(const std::string& name) {
    return fixture_tensors("adapters/" + name + "/expected").at("out.logits");
  }
  const TemporaryFolder folder_;
};

TEST_F(AdapterBase, TakesLabelsFromTheAdapterFoldersConfiguration) {
  const auto model = load<SequenceClassifier>(place("texts", "bert"));
  EXPECT_THAT(model->config().label_names(), ElementsAre("sad", "plain", "glad"));
  EXPECT_TRUE(tensors_near((*model)(ids("texts"), Mask()), expected("texts"), 1e-12));
  EXPECT_FALSE(model->is_training());
}

TEST_F(AdapterBase, HasAsManyLabelsAsTheSavedHead) {
  const auto model = load<SequenceClassifier>(place("texts_without_names", "encoders/RobertaModel"));
  EXPECT_THAT(model->config().label_names(), ElementsAre("LABEL_0", "LABEL_1", "LABEL_2", "LABEL_3"));
  EXPECT_TRUE(tensors_near((*model)(ids("texts_without_names"), Mask()), expected("texts_without_names"), 1e-12));
}

TEST_F(AdapterBase, BecomesATokenClassifierForTheTaskTokenCls) {
  const auto model = load<TokenClassifier>(place("words", "encoders/DistilBertModel"));
  EXPECT_THAT(model->config().label_names(), ElementsAre("B", "I", "O"));
  EXPECT_TRUE(tensors_near((*model)(ids("words"), Mask()), expected("words"), 1e-12));
}

TEST_F(AdapterBase, BecomesTheEncoderForTheTaskFeatureExtraction) {
  const std::string folder = place("vectors", "bert_masked");
  const auto model = load<EncoderModel>(folder);
  EXPECT_TRUE(tensors_near((*model)(ids("vectors")), expected("vectors"), 1e-12));
  // A sentence encoder merges them into the weights.
  SentenceEncoderConfig config{.encoder = config_of(*model), .normalize = false};
  const auto sentences = load_sentence_encoder(folder);
  EXPECT_TRUE(tensors_near((*sentences)(ids("vectors")),
                           nn::mean_pool(expected("vectors"), model->padding(ids("vectors"))), 1e-12));
  EXPECT_TRUE(nn::adapter_names(*sentences).empty());
}

TEST_F(AdapterBase, IsWrittenAsItWasRead) {
  const auto of_texts = load<SequenceClassifier>(place("texts", "bert"));
  AdapterPart part = adapter_part(*of_texts);
  nn::train_adapters_only(*of_texts);
  of_texts->head->unfreeze();
  save_adapter(folder_ / "again", part.module, part.layout, "default",
               {.base_model = "../below", .task = part.note.task, .config = part.note.config});
  EXPECT_TRUE(is_adapter_folder(folder_ / "again"));
  const auto before = load_safetensors(folder_ / "texts/adapter_model.safetensors").tensors,
             after = load_safetensors(folder_ / "again/adapter_model.safetensors").tensors;
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, value] : before) EXPECT_TRUE(tensors_equal(after.at(name), value)) << name;
  const auto again = load<SequenceClassifier>(folder_ / "again");
  EXPECT_EQ(again->config().label_names(), of_texts->config().label_names());
  EXPECT_TRUE(tensors_equal((*again)(ids("texts")), (*of_texts)(ids("texts"))));
}

TEST_F(AdapterBase, ListsFullyTrainedModulesAsPeftDoes) {
  const auto model = load<SequenceClassifier>(place("texts_without_names", "encoders/RobertaModel"));
  const AdapterPart part = adapter_part(*model);
  nn::train_adapters_only(*model);
  model->head->unfreeze();
  save_adapter(folder_ / "again", part.module, part.layout, "default", part.note);
  EXPECT_THAT(read_text(folder_ / "again/adapter_config.json"),
              testing::HasSubstr("\"modules_to_save\": [\n    \"classifier\"\n  ]"));
}

TEST_F(AdapterBase, IsRefusedIfATensorIsMissing) {
  const std::string folder = place("texts", "bert");
  auto tensors = load_safetensors(folder + "/adapter_model.safetensors").tensors;
  tensors.erase("base_model.model.classifier.bias");
  save_safetensors(folder + "/adapter_model.safetensors", tensors);
  EXPECT_TAPE_ERROR(load_model(folder), ErrorKind::format,
                    fmt::format("{}/adapter_model.safetensors: the tensors do not match config.json:\n  missing: "
                                "\"classifier.bias\" [3]",
                                folder));
}

TEST_F(AdapterBase, ChecksTheConfigurationBeforeAllocating) {
  const std::string folder = place("texts", "bert");
  change(folder + "/config.json", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1000000000");
  EXPECT_TAPE_ERROR(load_model(folder), ErrorKind::format,
                    fmt::format("{}/config.json: 1000000000 layers, but {}/../below has 39 tensors", folder, folder));
}

TEST_F(AdapterBase, CannotBeTheAdapterFolderItself) {
  const std::string folder = place("texts", "bert");
  change(folder + "/adapter_config.json", "../below", ".");
  EXPECT_TAPE_ERROR(
      load_model(folder), ErrorKind::config,
      fmt::format("{}/adapter_config.json: \"base_model_name_or_path\" is \".\", which is not a folder with "
                  "a model",
                  folder));
}

TEST_F(AdapterBase, MustBeAnEncoderForAdaptersOfAnEncoder) {
  const std::string folder = place("texts", "bert");
  fs::remove_all(folder_ / "below");
  fs::copy(fixture_path("hugging_face/gpt2"), folder_ / "below");
  EXPECT_TAPE_ERROR(
      load_model(folder), ErrorKind::config,
      fmt::format("{0}/adapter_config.json: the adapters are for an encoder, and {0}/../below is a Gpt", folder));
}

}  // namespace
}  // namespace tape::models
