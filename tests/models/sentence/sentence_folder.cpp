// sentence-transformers folders, compared with its vectors (tests/fixtures/make_sentence_encoders.py).

#include "models/sentence/sentence_encoder.h"

#include <filesystem>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "models/folders/folder.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"
#include "text/tokenizers/load_tokenizer.h"

namespace tape::models {
namespace {

const std::vector<std::string> kTexts{"the cat sat on the mat", "a big red dog ran", "cat", "",
                                      "the the the the the the the the the the"};

std::string folder_of(const std::string& name) { return fixture_path("sentence_encoders/" + name); }

/// Vectors of one folder, by prompt.
std::map<std::string, Tensor> expected_of(const std::string& name) {
  std::map<std::string, Tensor> found;
  for (const auto& [key, vectors] : load_safetensors(fixture_path("sentence_encoders.safetensors")).tensors)
    if (key.starts_with(name + ".")) found[key.substr(name.size() + 1)] = vectors;
  return found;
}

/// A copy of a fixture folder, which tests then change.
std::string copied(const TemporaryFolder& to, const std::string& name) {
  std::filesystem::copy(folder_of(name), to / name, std::filesystem::copy_options::recursive);
  return to / name;
}

class SentenceFolders : public testing::TestWithParam<std::string> {
 protected:
  static void expect_vectors(SentenceEncoder& model, const std::string& folder) {
    const auto tokenizer = text::load_tokenizer(folder);
    const auto expected = expected_of(GetParam());
    ASSERT_FALSE(expected.empty());
    for (const auto& [prompt, vectors] : expected) {
      EmbedTextOptions options;
      if (prompt != "default") options.prompt_name = prompt;
      EXPECT_TRUE(tensors_near(embed(model, *tokenizer, kTexts, options), vectors, 2e-6)) << prompt;
    }
  }
};

TEST_P(SentenceFolders, GiveTheVectorsOfSentenceTransformers) {
  const auto model = load_sentence_encoder(folder_of(GetParam()));
  expect_vectors(*model, folder_of(GetParam()));
}

TEST_P(SentenceFolders, GiveTheSameAfterSaving) {
  const TemporaryFolder copy;
  save(copy.path(), *load_sentence_encoder(folder_of(GetParam())));
  expect_vectors(*load_sentence_encoder(copy.path()), folder_of(GetParam()));
  remove_model(copy.path());
  EXPECT_TRUE(std::filesystem::is_empty(copy.path()));
}

INSTANTIATE_TEST_SUITE_P(Saved, SentenceFolders,
                         testing::Values("mean_max", "cls", "all", "dense", "residual", "prompt", "prompt_pooled",
                                         "older"),
                         [](const auto& folder) { return folder.param; });

TEST(SentenceFolder, MayHaveItsEncoderInASubfolder) {
  const TemporaryFolder folder;
  const std::string model = copied(folder, "cls");
  std::filesystem::create_directory(model + "/0_Transformer");
  for (const char* file : {"config.json", "model.safetensors", "sentence_bert_config.json", "tokenizer_config.json"})
    std::filesystem::rename(fmt::format("{}/{}", model, file), fmt::format("{}/0_Transformer/{}", model, file));
  const std::string list = model + "/modules.json";
  write_text(list, replaced(read_text(list), "\"path\": \"\"", "\"path\": \"0_Transformer\""));
  const auto tokenizer = text::load_tokenizer(folder_of("cls"));
  EXPECT_TRUE(
      tensors_near(embed(*load_sentence_encoder(model), *tokenizer, kTexts), expected_of("cls").at("default"), 2e-6));
}

TEST(SentenceFolder, ListsThePromptsIfTheRequestedOneDoesNotExist) {
  const auto model = load_sentence_encoder(folder_of("prompt"));
  const auto tokenizer = text::load_tokenizer(folder_of("prompt"));
  EXPECT_TAPE_ERROR(embed(*model, *tokenizer, kTexts, {.prompt_name = "title"}), ErrorKind::config,
                    "embed: the model has no prompt \"title\"; it has \"document\", \"passage\", \"query\"");
  // One passed to the call replaces the default.
  EXPECT_TRUE(tensors_near(embed(*model, *tokenizer, kTexts, {.prompt = "passage : to "}),
                           expected_of("prompt").at("passage"), 2e-6));
}

TEST(SentenceFolder, RefusesInvalidModules) {
  const TemporaryFolder folder;
  const std::string dense = copied(folder, "dense"), config = dense + "/2_Dense/config.json", good = read_text(config);
  const auto refused = [&](const std::string& from, const std::string& to, ErrorKind kind, const std::string& error) {
    write_text(config, replaced(good, from, to));
    EXPECT_TAPE_ERROR(load_sentence_encoder(dense), kind, error);
  };
  refused("torch.nn.modules.activation.Tanh", "torch.nn.modules.activation.Mish", ErrorKind::config,
          config +
              ": \"activation_function\" must be torch.nn's Identity, Tanh, ReLU, GELU, SiLU or Sigmoid, got "
              "\"torch.nn.modules.activation.Mish\"");
  refused("torch.nn.modules.activation.Tanh", "somewhere.Tanh", ErrorKind::config,
          config +
              ": \"activation_function\" must be torch.nn's Identity, Tanh, ReLU, GELU, SiLU or Sigmoid, got "
              "\"somewhere.Tanh\"");
  refused("\"module_input_name\": \"sentence_embedding\"", "\"module_input_name\": \"token_embeddings\"",
          ErrorKind::config,
          config + ": \"module_input_name\" must be \"sentence_embedding\", got \"token_embeddings\"");
  refused("\"in_features\": 8", "\"in_features\": -8", ErrorKind::config,
          config + ": \"in_features\" must be at least 1, got -8");
  refused("\"in_features\": 8", "\"in_features\": 9", ErrorKind::format,
          dense + "/2_Dense/model.safetensors: tensor \"linear.weight\" is [5, 8], but the module requires [5, 9]");
  refused("\"bias\": true", "\"bias\": false", ErrorKind::format,
          dense + "/2_Dense/model.safetensors: the module has no tensor \"linear.bias\"");
  write_text(config, good);
  const std::string pooling = dense + "/1_Pooling/config.json";
  write_text(pooling, replaced(read_text(pooling), "\"mean\"", "[\"mean\", \"max\"]"));
  EXPECT_TAPE_ERROR(load_sentence_encoder(dense), ErrorKind::config,
                    "SentenceEncoder: module 0 takes vectors of width 8, but those before it have width 16");
}

}  // namespace
}  // namespace tape::models
