#include "models/adapters/adapter_folder.h"

#include <filesystem>

#include <fmt/format.h>

#include <gmock/gmock.h>

#include "autograd/io/safetensors.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/shape/shape.h"
#include "base/file.h"
#include "nn/init.h"
#include "nn/linear.h"
#include "optim/adamw.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;

AnyModel base_of(const std::string& name) {
  return load_model(
      fixture_path(fmt::format("hugging_face/{}", name.starts_with("gpt2") ? "gpt2" : "bert_classifier")));
}

Tensor logits_of(const AnyModel& model, const Tensor& ids) {
  if (const auto* const gpt = std::get_if<std::unique_ptr<CausalLM>>(&model)) return (**gpt)(ids);
  return (*std::get<std::unique_ptr<SequenceClassifier>>(model))(ids);
}

Tensor loss_of(const AnyModel& model, const Tensor& ids) {
  const Tensor logits = logits_of(model, ids);
  if (logits.rank() == 2) return cross_entropy(logits, tensor({0, 1}, i64));
  const Tensor next = flatten(slice(ids, 1, {.start = 1}));
  return cross_entropy(flatten(slice(logits, 1, {.end = -1}), 0, 1), next);
}

TEST(AdapterFolder, ReproducesPeftsLogitsAndTwentyTrainingSteps) {
  for (const std::string name : {"gpt2", "gpt2_dora", "classifier"}) {
    const auto expected = fixture_tensors(fmt::format("adapters/{}/expected", name));
    const AnyModel model = base_of(name);
    load_adapter(fixture_path(fmt::format("adapters/{}", name)), model);
    const Tensor ids = expected.at("in.ids");
    EXPECT_TRUE(tensors_near(logits_of(model, ids), expected.at("out.logits"), 1e-12)) << name;
    nn::Module& module = module_of(model);
    nn::train_adapters_only(module);
    if (name == "classifier")
      for (auto& [path, child] : module.named_modules())
        if (path == "head.classifier") child->unfreeze();
    Tensors trained;
    for (const Tensor& parameter : module.parameters())
      if (parameter.requires_grad()) trained.push_back(parameter);
    optim::AdamW optimizer(trained, {.lr = 0.01, .weight_decay = 0.1});
    for (const double wanted : expected.at("out.losses").to_vector<double>()) {
      const Tensor loss = loss_of(model, ids);
      EXPECT_NEAR(loss.item(), wanted, 1e-10) << name;
      module.zero_grad();
      loss.backward();
      optimizer.step();
    }
  }
}

TEST(AdapterFolder, IsWrittenAsItWasRead) {
  for (const std::string name : {"gpt2", "gpt2_dora", "classifier"}) {
    const std::string from = fixture_path(fmt::format("adapters/{}", name));
    const AnyModel model = base_of(name);
    load_adapter(from, model, "other");
    nn::train_adapters_only(module_of(model));
    if (name == "classifier")
      for (auto& [path, child] : module_of(model).named_modules())
        if (path == "head.classifier") child->unfreeze();
    const TemporaryFolder to;
    save_adapter(to.path(), model, "other", {.base_model = "base", .task = "SEQ_CLS"});
    EXPECT_TRUE(is_adapter_folder(to.path()));
    EXPECT_TAPE_ERROR(load_model(to.path()), ErrorKind::config,
                      fmt::format("{}: \"base_model_name_or_path\" is \"base\", which is not a folder with a model",
                                  to / "adapter_config.json"));
    const auto before = load_safetensors(fmt::format("{}/adapter_model.safetensors", from)).tensors,
               after = load_safetensors(to / "adapter_model.safetensors").tensors;
    ASSERT_EQ(before.size(), after.size()) << name;
    for (const auto& [key, value] : before) {
      ASSERT_TRUE(after.contains(key)) << key;
      EXPECT_TRUE(tensors_equal(after.at(key), value)) << key;
    }
    const AnyModel again = base_of(name);
    load_adapter(to.path(), again);
    const Tensor ids = fixture_tensors(fmt::format("adapters/{}/expected", name)).at("in.ids");
    EXPECT_TRUE(tensors_equal(logits_of(again, ids), logits_of(model, ids))) << name;
  }
}

TEST(AdapterFolder, GivesTransformersMergedModelAfterMerging) {
  const AnyModel model = base_of("gpt2");
  load_adapter(fixture_path("adapters/gpt2"), model);
  const Tensor ids = fixture_tensors("adapters/gpt2/expected").at("in.ids");
  const Tensor before = logits_of(model, ids);
  nn::merge_adapters(module_of(model));
  const TemporaryFolder to;
  save(to.path(), model);
  EXPECT_TRUE(tensors_near(logits_of(load_model(to.path()), ids), before, 1e-12));
}

TEST(AdapterFolder, IsNeededUnlessAdaptersAreMerged) {
  const TemporaryFolder folder;
  const AnyModel model = base_of("gpt2");
  load_adapter(fixture_path("adapters/gpt2"), model);
  EXPECT_TAPE_ERROR(save(folder.path(), model), ErrorKind::config,
                    fmt::format("{}: the adapter \"default\" is not merged, and save() writes no adapters; use "
                                "nn::merge_adapters or models::save_adapter",
                                folder.path()));
  nn::activate_adapter(module_of(model), "");  // the model computes what its base does
  save(folder.path(), model);
}

TEST(AdapterFolder, LoadsWithTheBaseModelItNames) {
  const AnyModel model = base_of("gpt2");
  load_adapter(fixture_path("adapters/gpt2"), model);
  nn::train_adapters_only(module_of(model));
  const TemporaryFolder to;
  save(to / "below", base_of("gpt2"));
  save_adapter(to / "adapters", model, "default", {.base_model = "../below"});
  const Tensor ids = fixture_tensors("adapters/gpt2/expected").at("in.ids");
  const AnyModel again = load_model(to / "adapters");
  EXPECT_TRUE(tensors_equal(logits_of(again, ids), logits_of(model, ids)));
  EXPECT_FALSE(module_of(again).is_training());
}

TEST(AdapterFolder, AddsAdaptersToAllLayersPackedInOneMatrix) {
  const AnyModel model = base_of("gpt2");
  nn::Module& module = module_of(model);
  EXPECT_THAT(add_adapter(module, layout_of(model), "new", {.rank = 2}, {"query", "linear1"}), testing::SizeIs(8));
  int64_t parameters = 0;  // query, key and value share one A
  for (const NamedTensor& named : module.named_parameters())
    parameters += named.name.find(".lora.new.") == std::string::npos ? 0 : 1;
  EXPECT_EQ(parameters, 2 * (1 + 3 + 2));
  nn::train_adapters_only(module);
  const TemporaryFolder to;
  save_adapter(to.path(), model, "new", {.task = "CAUSAL_LM"});
  EXPECT_THAT(read_text(to / "adapter_config.json"), testing::HasSubstr(R"("target_modules": [
    "c_attn",
    "c_fc"
  ])"));
  nn::add_adapter(module, "apart", {.rank = 2}, {"key"});
  EXPECT_TAPE_ERROR(save_adapter(to.path(), model, "apart"), ErrorKind::config,
                    "save_adapter: the folder stores encoder.layers.0.self_attention.query, "
                    "encoder.layers.0.self_attention.key, encoder.layers.0.self_attention.value in one matrix, so "
                    "their adapters must share A (models::add_adapter)");
}

TEST(AdapterFolder, NamesGptNeoXsOutputLayerAsInMemory) {
  const std::string base = fixture_path("hugging_face/gpt_neox");
  const AnyModel model = load_model(base);
  nn::Module& module = module_of(model);
  add_adapter(module, layout_of(model), "default", {.rank = 2}, {"linear1"});
  nn::train_adapters_only(module);
  for (const NamedTensor& parameter : module.named_parameters()) {
    if (parameter.name == "output.weight") Tensor(parameter.tensor).requires_grad_();
    if (parameter.tensor.requires_grad()) nn::init::normal_(parameter.tensor, 0, 1);
  }
  const TemporaryFolder to;
  save_adapter(to.path(), model, "default", {.base_model = base});
  const std::string weights = to / "adapter_model.safetensors", config = to / "adapter_config.json";
  const auto tensors = load_safetensors(weights).tensors;
  EXPECT_TRUE(tensors.contains("base_model.model.lm_head.weight"));
  const Tensor ids = tensor({{3, 4, 5}}, i64), wanted = logits_of(model, ids);
  EXPECT_TRUE(tensors_equal(logits_of(load_with_adapter(to.path()), ids), wanted));
  // Before transformers 5, the module had the name in the file.
  std::map<std::string, Tensor> older;
  for (const auto& [name, value] : tensors)
    older.emplace(name == "base_model.model.lm_head.weight" ? "base_model.model.embed_out.weight" : name, value);
  save_safetensors(weights, older, {{"format", "pt"}});
  std::string text = read_text(config);
  const size_t at = text.find("lm_head");
  ASSERT_NE(at, text.npos);
  write_text(config, text.replace(at, 7, "embed_out"));
  EXPECT_TRUE(tensors_equal(logits_of(load_with_adapter(to.path()), ids), wanted));
}

TEST(AdapterFolder, IsRefusedForTheOutputLayer) {
  const std::string base = fixture_path("hugging_face/gpt_neox");
  const TemporaryFolder folder;
  write_text(folder / "adapter_config.json", R"({"peft_type": "LORA", "r": 1, "target_modules": ["lm_head"]})");
  const std::string file = folder / "adapter_model.safetensors";
  save_safetensors(file,
                   {{"base_model.model.lm_head.lora_A.weight", ones({1, 16})},
                    {"base_model.model.lm_head.lora_B.weight", ones({13, 1})},
                    {"base_model.model.lm_head.base_layer.weight", ones({13, 16})}},
                   {{"format", "pt"}});
  EXPECT_TAPE_ERROR(
      load_with_adapter(folder.path(), base), ErrorKind::config,
      file + ": lm_head has an adapter, which is supported for linear layers but not for the output layer");
}

TEST(AdapterFolder, AddsNoneIfALayerOfAMatrixHasOneOfThatName) {
  const AnyModel model = base_of("gpt2");
  nn::Module& module = module_of(model);
  nn::add_adapter(module, "new", {.rank = 3}, {"layers.1.self_attention.key"});
  const nn::StateDict before = module.state_dict();
  EXPECT_TAPE_ERROR(add_adapter(module, layout_of(model), "new", {.rank = 2}, {"query"}), ErrorKind::config,
                    "add_adapter: encoder.layers.1.self_attention.key already has an adapter \"new\"");
  const nn::StateDict after = module.state_dict();
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [path, value] : before) EXPECT_EQ(after.at(path).raw(), value.raw()) << path;
}

TEST(AdapterFolder, WritesFullLayerNamesIfTheLastComponentIsAmbiguous) {
  const AnyModel model = base_of("classifier");
  nn::add_adapter(module_of(model), "new", {}, {"layers.1.*.output"});
  nn::train_adapters_only(module_of(model));
  const TemporaryFolder to;
  save_adapter(to.path(), model, "new");
  EXPECT_THAT(read_text(to / "adapter_config.json"), testing::HasSubstr(R"("target_modules": [
    "bert.encoder.layer.1.attention.output.dense"
  ])"));
}

TEST(AdapterFolder, IsNotWrittenIfTheLayerItselfIsTrained) {
  const AnyModel model = base_of("gpt2");
  nn::add_adapter(module_of(model), "new", {}, {"linear1"});
  const TemporaryFolder to;
  EXPECT_TAPE_ERROR(save_adapter(to.path(), model, "new"), ErrorKind::config,
                    "save_adapter: encoder.layers.0.feed_forward.linear1.weight and its layer's adapter are both "
                    "trainable; a peft folder can store only one of them (nn::train_adapters_only)");
}

TEST(AdapterFolder, KeepsBothNamesOfATrainedTiedTable) {
  const AnyModel model = base_of("gpt2");
  nn::Module& module = module_of(model);
  nn::add_adapter(module, "new", {}, {"linear1"});
  nn::train_adapters_only(module);
  for (auto& [path, child] : module.named_modules())
    if (path == "embeddings.token") child->unfreeze();
  const TemporaryFolder to;
  save_adapter(to.path(), model, "new");
  const auto tensors = load_safetensors(to / "adapter_model.safetensors").tensors;
  EXPECT_TRUE(tensors_equal(tensors.at("base_model.model.lm_head.weight"),
                            tensors.at("base_model.model.transformer.wte.weight")));
  load_adapter(to.path(), base_of("gpt2"));
}

/// A copy of a fixture's adapters, which tests then break.
class BrokenAdapterFolder : public testing::Test {
 protected:
  BrokenAdapterFolder() {
    for (const char* file : {"adapter_config.json", "adapter_model.safetensors"})
      fs::copy(fixture_path(fmt::format("adapters/gpt2/{}", file)), folder_ / file);
  }
  void expect_refused(const std::string& file, const std::string& sentence, ErrorKind kind = ErrorKind::format) const {
    const AnyModel model = base_of("gpt2");
    EXPECT_TAPE_ERROR(load_adapter(folder_.path(), model), kind, fmt::format("{}: {}", folder_ / file, sentence));
    EXPECT_TRUE(nn::adapter_names(module_of(model)).empty());
  }
  void expect_refused_config(const std::string& from, const std::string& to, const std::string& sentence) const {
    std::string text = read_text(folder_ / "adapter_config.json");
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    write_text(folder_ / "adapter_config.json", text.replace(at, from.size(), to));
    expect_refused("adapter_config.json", sentence, ErrorKind::config);
  }
  void change(const std::function<void(std::map<std::string, Tensor>&)>& edit) const {
    auto tensors = load_safetensors(folder_ / "adapter_model.safetensors").tensors;
    edit(tensors);
    save_safetensors(folder_ / "adapter_model.safetensors", tensors);
  }
  const TemporaryFolder folder_;
};

TEST_F(BrokenAdapterFolder, IsRefusedForAnUnsupportedType) {
  expect_refused_config(R"("peft_type": "LORA")", R"("peft_type": "IA3")",
                        "\"peft_type\" must be \"LORA\", got \"IA3\"");
}

TEST_F(BrokenAdapterFolder, IsRefusedForAnInvalidRegularExpression) {
  expect_refused_config(R"("c_proj": 2)", R"("*": 2)",
                        "\"rank_pattern\": \"*\" must be names or a supported regular expression, got 2");
}

TEST_F(BrokenAdapterFolder, IsRefusedForTensorsOfLayersItDoesNotTarget) {
  expect_refused_config(R"("c_attn"
  ])",
                        R"("c_other"
  ])",
                        "\"target_modules\" must be such that transformer.h.0.attn.c_attn has an adapter, got "
                        "[\"h.0.mlp.c_proj\",\"c_fc\",\"c_other\"]");
}

TEST_F(BrokenAdapterFolder, IsRefusedIfASavedModuleIsMissing) {
  const std::string file = folder_ / "adapter_config.json", from = "\"modules_to_save\": null";
  std::string text = read_text(file);
  write_text(file, text.replace(text.find(from), from.size(), "\"modules_to_save\": [\"ln_f\"]"));
  expect_refused("adapter_model.safetensors",
                 "\"base_model.model.transformer.ln_f.weight\" of modules_to_save is missing");
}

TEST_F(BrokenAdapterFolder, IsRefusedIfOneNameOfATiedTensorIsMissing) {
  change([](auto& tensors) { tensors["base_model.model.transformer.wte.weight"] = zeros({16, 8}, f64); });
  expect_refused(
      "adapter_model.safetensors",
      "has \"transformer.wte.weight\" but not \"lm_head.weight\", which are one tied tensor of the model: peft "
      "would untie them",
      ErrorKind::config);
}

TEST_F(BrokenAdapterFolder, IsRefusedForAFractionalRank) {
  expect_refused_config(R"("c_proj": 2)", R"("c_proj": 2.9)",
                        "\"rank_pattern\": \"c_proj\" must be an integer, got 2.9");
}

TEST_F(BrokenAdapterFolder, IsRefusedWithAListOfEveryMismatchedTensor) {
  const std::string fc = "base_model.model.transformer.h.0.mlp.c_fc.lora_",
                    proj = "base_model.model.transformer.h.0.mlp.c_proj.lora_";
  change([&](auto& tensors) {
    tensors.erase(fc + "B.weight");
    tensors[proj + "B.weight"] = zeros({8, 3}, f64);
  });
  expect_refused("adapter_model.safetensors",
                 fmt::format("the tensors do not match config.json:\n  missing: \"{}B.weight\" [12, 3]\n  shape: "
                             "\"{}B.weight\" is [8, 3], but config.json requires [8, 2]",
                             fc, proj));
}

TEST_F(BrokenAdapterFolder, IsRefusedForLayersTheModelDoesNotHave) {
  change([](auto& tensors) {
    tensors["base_model.model.transformer.h.7.attn.c_attn.lora_A.weight"] = zeros({3, 8}, f64);
  });
  expect_refused("adapter_model.safetensors",
                 "\"base_model.model.transformer.h.7.attn.c_attn.lora_A.weight\": the model has no linear layer "
                 "transformer.h.7.attn.c_attn");
}

TEST_F(BrokenAdapterFolder, IsRefusedForOtherTensorsTheModelDoesNotHave) {
  change([](auto& tensors) { tensors["base_model.model.classifier.weight"] = zeros({3, 8}, f64); });
  expect_refused("adapter_model.safetensors",
                 "the tensors do not match config.json:\n  unexpected: \"classifier.weight\" [3, 8]");
}

TEST_F(BrokenAdapterFolder, IsRefusedForANameInUse) {
  const AnyModel model = base_of("gpt2");
  load_adapter(folder_.path(), model);
  EXPECT_TAPE_ERROR(load_adapter(folder_.path(), model), ErrorKind::config,
                    "add_adapter: encoder.layers.0.feed_forward.linear1 already has an adapter \"default\"");
}

}  // namespace
}  // namespace tape::models
