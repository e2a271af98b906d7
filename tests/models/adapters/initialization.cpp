// Adapters that change the base model in peft (init_lora_weights), with fixtures from
// tests/fixtures/make_adapters.py.
#include "models/adapters/initialization.h"

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "models/adapters/adapter_folder.h"
#include "nn/adapters.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/fixtures.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

AnyModel peft_base(const std::string& name) {
  return load_model(
      fixture_path(fmt::format("hugging_face/{}", name.starts_with("gpt2") ? "gpt2" : "bert_classifier")));
}

Tensor peft_logits(const AnyModel& model, const Tensor& ids) {
  if (const auto* const gpt = std::get_if<std::unique_ptr<CausalLM>>(&model)) return (**gpt)(ids);
  return (*std::get<std::unique_ptr<SequenceClassifier>>(model))(ids);
}

constexpr std::array kChanged{"gpt2_pissa", "gpt2_olora", "classifier_pissa_dora", "classifier_olora"};
constexpr double kOfPeft = 1e-5;  // peft computes in f32, including the singular vectors

TEST(AdapterInitialization, GivesPeftsLogits) {
  for (const std::string name : kChanged) {
    const auto expected = fixture_tensors(fmt::format("adapters/{}/expected", name));
    const AnyModel model = peft_base(name);
    load_adapter(fixture_path(fmt::format("adapters/{}", name)), model);
    EXPECT_TRUE(tensors_near(peft_logits(model, expected.at("in.ids")), expected.at("out.logits").to(f64), kOfPeft))
        << name;
  }
}

TEST(AdapterInitialization, LeavesTheBaseModelUnchanged) {
  for (const std::string name : kChanged) {
    const Tensor ids = fixture_tensors(fmt::format("adapters/{}/expected", name)).at("in.ids");
    const AnyModel model = peft_base(name);
    const Tensor before = peft_logits(model, ids);
    load_adapter(fixture_path(fmt::format("adapters/{}", name)), model);
    nn::activate_adapter(module_of(model), "");
    EXPECT_TRUE(tensors_equal(peft_logits(model, ids), before)) << name;
  }
}

TEST(AdapterInitialization, GivesTheSameLogitsSavedAsAPlainAdapterAndMerged) {
  for (const std::string name : kChanged) {
    const Tensor ids = fixture_tensors(fmt::format("adapters/{}/expected", name)).at("in.ids");
    const AnyModel model = peft_base(name);
    load_adapter(fixture_path(fmt::format("adapters/{}", name)), model);
    const Tensor logits = peft_logits(model, ids);
    nn::train_adapters_only(module_of(model));
    const TemporaryFolder to;
    save_adapter(to.path(), model, "default");
    EXPECT_EQ(AdapterConfig(to.path()).base_change(), BaseChange::none);
    const AnyModel again = peft_base(name);
    load_adapter(to.path(), again);
    EXPECT_TRUE(tensors_near(peft_logits(again, ids), logits, 1e-12)) << name;
    nn::merge_adapters(module_of(again));
    EXPECT_TRUE(tensors_near(peft_logits(again, ids), logits, 1e-12)) << name;
  }
}

/// Reads an adapter of zeros for one layer of a GPT-2, whose weight [in, out] has no such initialization.
void expect_no_start(const std::string& block, const std::string& target, const std::string& initialization,
                     int64_t rank, int64_t in, int64_t out) {
  const TemporaryFolder folder;
  const std::string name = fmt::format("base_model.model.transformer.{}.{}.lora_", block, target);
  write_text(folder / "adapter_config.json",
             fmt::format(R"({{"peft_type": "LORA", "r": {}, "target_modules": ["{}"], "init_lora_weights": "{}"}})",
                         rank, target, initialization));
  save_safetensors(
      folder / "adapter_model.safetensors",
      std::map<std::string, Tensor>{{name + "A.weight", zeros({rank, in})}, {name + "B.weight", zeros({out, rank})}});
  const AnyModel model = peft_base("gpt2");
  EXPECT_TAPE_ERROR(load_adapter(folder.path(), model), ErrorKind::format,
                    fmt::format("{}: \"{}A.weight\": init_lora_weights has no start of rank {} for a weight [{}, {}]",
                                folder / "adapter_model.safetensors", name, rank, in, out));
}

TEST(AdapterInitialization, IsRefusedForARankLargerThanTheWeight) {
  expect_no_start("h.1.attn", "c_proj", "pissa", 9, 8, 8);
}

TEST(AdapterInitialization, IsRefusedForANonSquareConv1DAsInPeft) {
  expect_no_start("h.0.mlp", "c_fc", "olora", 2, 8, 12);
}

}  // namespace
}  // namespace tape::models
