// Tensor names that lack the prefix of the base model, or have it in a model without a head. transformers reads all of
// them.
#include <map>

#include <fmt/format.h>

#include "models/folders/layout.h"
#include "models/folders/layout_prefix.h"
#include "tests/models/folders/hugging_face_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

class BasePrefix : public HuggingFaceFolder {
 protected:
  /// Expects that the fixture with renamed tensors gives the same model.
  void expect_same(const std::string& name, const std::function<std::string(const std::string&)>& renamed) const {
    take(name);
    const nn::StateDict before = module_of(load_model(folder_.path())).state_dict();
    rename_all(renamed);
    const AnyModel model = load_model(folder_.path());
    const nn::StateDict after = module_of(model).state_dict();
    ASSERT_EQ(after.size(), before.size()) << name;
    for (const auto& [key, value] : before) EXPECT_TRUE(tensors_equal(after.at(key), value)) << name << ": " << key;
  }
  void rename_all(const std::function<std::string(const std::string&)>& renamed) const {
    change_tensors([&](auto& tensors) {
      std::map<std::string, Tensor> others;
      for (const auto& [key, tensor] : tensors) others[renamed(key)] = tensor;
      tensors = others;
    });
  }
};

const std::map<std::string, std::string>& with_heads() {
  static const auto& prefixes =
      *new const std::map<std::string, std::string>{{"gpt2", "transformer."},
                                                    {"llama", "model."},
                                                    {"mistral", "model."},
                                                    {"qwen2", "model."},
                                                    {"qwen3", "model."},
                                                    {"gpt_neox", "gpt_neox."},
                                                    {"bart", "model."},
                                                    {"mbart", "model."},
                                                    {"marian", "model."},
                                                    {"m2m100", "model."},
                                                    {"bert_masked", "bert."},
                                                    {"vit_classifier", "vit."},
                                                    {"encoders/RobertaForMaskedLM", "roberta."},
                                                    {"encoders/DistilBertForMaskedLM", "distilbert."},
                                                    {"encoders/MPNetForMaskedLM", "mpnet."},
                                                    {"encoders/DebertaV2ForMaskedLM", "deberta."},
                                                    {"encoders/ModernBertForMaskedLM", "model."},
                                                    {"encoders/BertForSequenceClassification", "bert."},
                                                    {"encoders/XLMRobertaForSequenceClassification", "roberta."},
                                                    {"encoders/ModernBertForTokenClassification", "model."},
                                                    {"encoders/MPNetForQuestionAnswering", "mpnet."}};
  return prefixes;
}

TEST_F(BasePrefix, MayBeMissingInAModelWithAHead) {
  for (const auto& [name, prefix] : with_heads())
    expect_same(name,
                [&](const std::string& key) { return key.starts_with(prefix) ? key.substr(prefix.size()) : key; });
}

TEST_F(BasePrefix, MayBeMissingInSomeNames) {
  for (const auto& [name, prefix] : with_heads())
    expect_same(name, [&](const std::string& key) {
      return key.starts_with(prefix) && key.size() % 2 == 0 ? key.substr(prefix.size()) : key;
    });
}

TEST_F(BasePrefix, MayBePresentInABaseModel) {
  for (const auto& [name, prefix] : std::map<std::string, std::string>{{"bert", "bert."},
                                                                       {"encoders/RobertaModel", "roberta."},
                                                                       {"encoders/XLMRobertaModel", "roberta."},
                                                                       {"encoders/DistilBertModel", "distilbert."},
                                                                       {"encoders/MPNetModel", "mpnet."},
                                                                       {"encoders/DebertaV2Model", "deberta."},
                                                                       {"encoders/ModernBertModel", "model."},
                                                                       {"vit", "vit."},
                                                                       {"t5", "transformer."},
                                                                       {"mt5", "transformer."}})
    expect_same(name, [&](const std::string& key) { return prefix + key; });
}

TEST_F(BasePrefix, MayBeMissingTogetherWithOldBuffers) {
  take("gpt2");
  rename_all([](const std::string& key) { return key.substr(std::string("transformer.").size()); });
  change_tensors([](auto& tensors) { tensors["h.0.attn.masked_bias"] = zeros({1}); });
  EXPECT_NO_THROW(load_model(folder_.path()));
}

TEST_F(BasePrefix, MayBePresentIfAMaskedModelsFolderHasOnlyTheEncoder) {
  take("bert_masked");
  change_tensors(
      [](auto& tensors) { std::erase_if(tensors, [](const auto& t) { return t.first.starts_with("cls."); }); });
  EXPECT_TRUE(load<Bert>(folder_.path()));
}

TEST_F(BasePrefix, IsNamedInOneLineIfItDiffers) {
  const auto expect_line = [&](const std::string& theirs, const std::string& needed, const std::string& example) {
    EXPECT_TAPE_ERROR(load_model(folder_.path()), ErrorKind::format,
                      fmt::format("{}: tensor names begin with \"{}\", but config.json requires \"{}\": \"{}{}\" is "
                                  "\"{}{}\" there",
                                  path("model.safetensors"), theirs, needed, theirs, example, needed, example));
  };
  take("gpt2");
  rename_all([](const std::string& key) { return "module." + key; });
  expect_line("module.", "", "transformer.wte.weight");
  take("llama");
  rename_all([](const std::string& key) { return key.starts_with("model.") ? "transformer." + key.substr(6) : key; });
  expect_line("transformer.", "model.", "embed_tokens.weight");
  take("encoders/BertModel");
  rename_all([](const std::string& key) { return "encoder.bert." + key; });
  expect_line("encoder.bert.", "", "embeddings.word_embeddings.weight");
  take("t5");
  rename_all([](const std::string& key) { return key == "shared.weight" ? key : "model." + key; });
  EXPECT_THROW(load_model(folder_.path()), Error);
}

TEST_F(BasePrefix, IsUnexpectedIfANameOccursWithAndWithoutIt) {
  take("llama");
  change_tensors([](auto& tensors) { tensors["norm.weight"] = tensors.at("model.norm.weight"); });
  expect_unfit("\n  unexpected: \"norm.weight\" [16]");
  take("bert");
  change_tensors(
      [](auto& tensors) { tensors["bert.embeddings.LayerNorm.bias"] = tensors.at("embeddings.LayerNorm.bias"); });
  expect_unfit("\n  unexpected: \"bert.embeddings.LayerNorm.bias\" [8]");
}

TEST(PrefixMismatch, IsFoundIfItExplainsEveryMissingName) {
  const auto found = find_prefix_mismatch({"a.b.x", "a.b.y.z"}, {"q.b.x", "q.b.y.z", "head"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->theirs, "q.");
  EXPECT_EQ(found->needed, "a.");
  EXPECT_EQ(found->example, "b.x");
  EXPECT_FALSE(find_prefix_mismatch({"a.b.x", "a.b.y"}, {"q.b.x"}));
  EXPECT_FALSE(find_prefix_mismatch({"x"}, {"ax"})) << "a prefix ends with a dot";
  EXPECT_FALSE(find_prefix_mismatch({}, {"x"}));
}

TEST_F(BasePrefix, LoadsEveryFamilyByModelTypeOnly) {
  for (const char* name : {
           "gpt2",
           "llama",
           "mistral",
           "qwen2",
           "qwen3",
           "gpt_neox",
           "bart",
           "mbart",
           "marian",
           "m2m100",
           "t5",
           "mt5",
           "vit",
           "vit_classifier",
           "bert",
           "bert_masked",
           "encoders/RobertaModel",
           "encoders/RobertaForMaskedLM",
           "encoders/XLMRobertaModel",
           "encoders/DistilBertModel",
           "encoders/DistilBertForMaskedLM",
           "encoders/MPNetModel",
           "encoders/MPNetForMaskedLM",
           "encoders/DebertaV2Model",
           "encoders/DebertaV2ForMaskedLM",
           "encoders/ModernBertModel",
           "encoders/ModernBertForMaskedLM",
           "bert_classifier",
           "encoders/BertForTokenClassification",
           "encoders/BertForQuestionAnswering",
           "encoders/RobertaForSequenceClassification",
           "encoders/RobertaForTokenClassification",
           "encoders/DistilBertForSequenceClassification",
           "encoders/DistilBertForTokenClassification",
           "encoders/DistilBertForQuestionAnswering",
           "encoders/MPNetForSequenceClassification",
           "encoders/MPNetForTokenClassification",
           "encoders/DebertaV2ForSequenceClassification",
           "encoders/DebertaV2ForTokenClassification",
       }) {
    SCOPED_TRACE(name);
    take(name);
    const AnyModel before = load_model(folder_.path());
    replace("config.json", "\"architectures\"", "\"x\"");
    const AnyModel after = load_model(folder_.path());
    EXPECT_EQ(module_of(after).type_name(), module_of(before).type_name()) << name;
    const nn::StateDict values = module_of(before).state_dict(), again = module_of(after).state_dict();
    ASSERT_EQ(again.size(), values.size()) << name;
    for (const auto& [key, value] : values) EXPECT_TRUE(tensors_equal(again.at(key), value)) << name << ": " << key;
  }
}

TEST_F(BasePrefix, CannotIdentifyModernBertsHeadByModelTypeOnly) {
  for (const char* name : {"encoders/ModernBertForTokenClassification", "encoders/ModernBertForQuestionAnswering"}) {
    take(name);
    replace("config.json", "\"architectures\"", "\"x\"");
    EXPECT_THROW(load_model(folder_.path()), Error) << name;
  }
}

}  // namespace
}  // namespace tape::models
