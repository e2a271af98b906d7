// Every key of peft 0.21's LoraConfig.
#include "models/adapters/config.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "base/file.h"
#include "tests/support/errors.h"
#include "tests/support/files.h"
#include "tests/support/temporary_folder.h"

namespace tape::models {
namespace {

constexpr const char* kLayer = "model.layers.11.self_attn.q_proj";

class AdapterConfigKeys : public testing::Test {
 protected:
  using Json = nlohmann::ordered_json;
  /// A plain adapter's configuration, with these keys added or replaced.
  void write(const Json& keys) const {
    Json config{{"peft_type", "LORA"}, {"r", 4}, {"target_modules", {"q_proj"}}};
    config.update(keys);
    write_text(folder_ / "adapter_config.json", config.dump());
  }
  nn::LoraOptions read(const std::string& keys, const std::string& layer = kLayer) const {
    write(Json::parse(keys));
    return AdapterConfig(folder_.path()).of(layer);
  }
  void expect_refused(const std::string& key, const std::string& value, const std::string& needed) const {
    EXPECT_TAPE_ERROR(read(fmt::format(R"({{"{}": {}}})", key, value)), ErrorKind::config,
                      fmt::format("{}: \"{}\" must be {}, got {}", folder_ / "adapter_config.json", key, needed,
                                  Json::parse(value).dump()));
  }
  const TemporaryFolder folder_;
};

TEST_F(AdapterConfigKeys, GivePlainLoraForPeftsDefaults) {
  // asdict(LoraConfig()) of peft 0.21.2
  const std::string all = R"({
    "task_type": null, "peft_type": "LORA", "auto_mapping": null, "peft_version": "0.21.2",
    "base_model_name_or_path": null, "revision": null, "inference_mode": false, "r": 4,
    "target_modules": ["q_proj"], "exclude_modules": null, "lora_alpha": 8, "lora_dropout": 0.0,
    "fan_in_fan_out": false, "bias": "none", "use_rslora": false, "modules_to_save": null,
    "init_lora_weights": true, "layers_to_transform": null, "layers_pattern": null, "rank_pattern": {},
    "alpha_pattern": {}, "megatron_config": null, "megatron_core": "megatron.core", "trainable_token_indices": null,
    "loftq_config": {}, "eva_config": null, "corda_config": null, "lora_ga_config": null, "use_dora": false,
    "velora_config": null, "alora_invocation_tokens": null, "use_qalora": false, "qalora_group_size": 16,
    "monteclora_config": null, "layer_replication": null, "runtime_config": {"ephemeral_gpu_offload": false},
    "lora_bias": false, "target_parameters": null, "use_bdlora": null, "arrow_config": null, "kasa_config": null,
    "ensure_weight_tying": false})";
  const nn::LoraOptions options = read(all);
  EXPECT_EQ(options.rank, 4);
  EXPECT_EQ(options.alpha, 8);
  EXPECT_FALSE(options.decomposed || options.rank_stabilized);
}

TEST_F(AdapterConfigKeys, SetTheOptionsOfEachLayer) {
  EXPECT_EQ(read(R"({"r": 3})").rank, 3);
  EXPECT_EQ(read(R"({"lora_alpha": 2.5})").alpha, 2.5);
  EXPECT_EQ(read(R"({"lora_dropout": 0.25})").dropout, 0.25);
  EXPECT_TRUE(read(R"({"use_rslora": true})").rank_stabilized);
  EXPECT_TRUE(read(R"({"use_dora": true})").decomposed);
  EXPECT_EQ(read(R"({"rank_pattern": {"v_proj": 1, "self_attn.q_proj": 2}})").rank, 2);
  EXPECT_EQ(read(R"({"rank_pattern": {"proj": 2}})").rank, 4);
  EXPECT_EQ(read(R"({"alpha_pattern": {"^model.layers.\\d+.*": 2}})").alpha, 2);
  EXPECT_EQ(read(R"({"alpha_pattern": {"layers.(1|2)\\..*": 2}})").alpha, 8);
  EXPECT_EQ(read(R"({"alpha_pattern": {"[qk]_proj": 3}})").alpha, 3);
}

TEST_F(AdapterConfigKeys, DefaultToPeftsRankAndAlpha) {
  write_text(folder_ / "adapter_config.json", R"({"peft_type": "LORA", "target_modules": "all-linear"})");
  const nn::LoraOptions options = AdapterConfig(folder_.path()).of(kLayer);
  EXPECT_EQ(options.rank, 8);
  EXPECT_EQ(options.alpha, 8);
}

TEST_F(AdapterConfigKeys, AcceptAnyValueIfTheyHaveNoEffect) {
  for (const char* keys :
       {R"({"auto_mapping": {"base_model_class": "X"}})", R"({"peft_version": "9.9"})", R"({"revision": "abc"})",
        R"({"inference_mode": true})", R"({"fan_in_fan_out": true})", R"({"megatron_core": "x"})",
        R"({"loftq_config": {"loftq_bits": 4}})", R"({"eva_config": {"rho": 2.0}})", R"({"corda_config": {"a": 1}})",
        R"({"lora_ga_config": {"a": 1}})", R"({"runtime_config": {"ephemeral_gpu_offload": true}})",
        R"({"velora_config": {"num_groups": 4}})", R"({"ensure_weight_tying": true})", R"({"qalora_group_size": 4})",
        R"({"task_type": "CAUSAL_LM"})", R"({"base_model_name_or_path": "x"})", R"({"modules_to_save": ["head"]})"})
    EXPECT_EQ(read(keys).rank, 4) << keys;
}

TEST_F(AdapterConfigKeys, GivePlainLoraForInitializationsThatKeepTheBase) {
  for (const char* value : {"true", "false", "null", "\"gaussian\"", "\"Gaussian\"", "\"eva\"", "\"orthogonal\"",
                            "\"mica\"", "\"lora_ga\"", "\"\""}) {
    write({{"init_lora_weights", Json::parse(value)}});
    EXPECT_EQ(AdapterConfig(folder_.path()).base_change(), BaseChange::none) << value;
  }
}

TEST_F(AdapterConfigKeys, SupportOrRefuseInitializationsThatChangeTheBase) {
  write({{"init_lora_weights", "pissa"}});
  EXPECT_EQ(AdapterConfig(folder_.path()).base_change(), BaseChange::pissa);
  for (const char* name : {"olora", "OLoRA"}) {
    write({{"init_lora_weights", name}});
    EXPECT_EQ(AdapterConfig(folder_.path()).base_change(), BaseChange::olora);
  }
  expect_refused("init_lora_weights", "\"pissa_niter_4\"",
                 "a deterministic initialization, because a random one changes the base model differently at each "
                 "load (save_pretrained's path_initial_model_for_weight_conversion makes it a plain adapter)");
  for (const char* value : {"\"corda\"", "\"loftq\"", "\"PISSA\"", "\"pissa_2\"", "\"new\""})
    expect_refused("init_lora_weights", value,
                   "true, false, gaussian, eva, orthogonal, mica, lora_ga, pissa or olora; others change the base "
                   "model by values that are not in the folder");
  expect_refused("init_lora_weights", "1", "a string");
}

TEST_F(AdapterConfigKeys, AreRefusedForOtherVariantsUnlessOff) {
  for (const char* key : {"arrow_config", "kasa_config", "monteclora_config", "use_bdlora"}) {
    EXPECT_EQ(read(fmt::format(R"({{"{}": null}})", key)).rank, 4);
    expect_refused(key, "{}", "null");
  }
  for (const char* key : {"lora_bias", "use_qalora", "layer_replication", "target_parameters", "megatron_config",
                          "trainable_token_indices", "alora_invocation_tokens"}) {
    for (const char* off : {"null", "false", "[]", "{}"})
      EXPECT_EQ(read(fmt::format(R"({{"{}": {}}})", key, off)).rank, 4);
    expect_refused(key, "[1]", "null, false or empty");
  }
  expect_refused("bias", "\"all\"", "\"none\"");
  expect_refused("peft_type", "\"ADALORA\"", "\"LORA\"");
}

TEST_F(AdapterConfigKeys, AreRefusedIfUnknownUnlessOff) {
  for (const char* off : {"null", "false", "\"\"", "[]", "{}"})
    EXPECT_EQ(read(fmt::format(R"({{"use_newlora": {}}})", off)).rank, 4);
  for (const char* on : {"true", "0", "0.5", "\"yes\"", "[0]", "{\"a\":null}"})
    expect_refused("use_newlora", on, "null, false or empty, because it is an unknown key");
}

TEST_F(AdapterConfigKeys, AreRefusedIfPeftCannotReadThem) {
  for (const char* key : {"r", "lora_alpha", "lora_dropout", "bias"}) expect_refused(key, "null", "a value");
  expect_refused("task_type", "\"FOO\"",
                 "null or one of SEQ_CLS, SEQ_2_SEQ_LM, CAUSAL_LM, TOKEN_CLS, QUESTION_ANS, FEATURE_EXTRACTION");
  expect_refused("layers_pattern", "[\"layers\"]", "null without \"layers_to_transform\"");
  for (const char* value : {"null", "[]", "\"\""})
    expect_refused("target_modules", value, "a list of names or a regular expression");
  expect_refused("target_modules", "\"(\"", "names or a supported regular expression");
  EXPECT_TAPE_ERROR(read(R"({"target_modules": ".*q_proj", "layers_to_transform": [1]})"), ErrorKind::config,
                    fmt::format("{}: \"layers_to_transform\" must be null if \"target_modules\" is a regular "
                                "expression, got [1]",
                                folder_ / "adapter_config.json"));
}

TEST_F(AdapterConfigKeys, MustSelectTheLayersThatHaveTensors) {
  const std::string needed = fmt::format("such that {} has an adapter", kLayer);
  for (const char* keys :
       {R"({"target_modules": ["v_proj", "self_attn.q_proj"]})",
        R"({"target_modules": ["model.layers.11.self_attn.q_proj"]})", R"({"target_modules": "all-linear"})",
        R"({"target_modules": "model\\.layers\\.\\d+\\..*_proj"})", R"({"exclude_modules": ["v_proj", "j"]})",
        R"({"exclude_modules": ".*v_proj"})", R"({"layers_to_transform": 11})", R"({"layers_to_transform": [3, 11]})",
        R"({"layers_to_transform": []})", R"({"layers_to_transform": [11], "layers_pattern": "layers"})",
        R"({"layers_to_transform": [11], "layers_pattern": ["h", "model.layers"]})"})
    EXPECT_EQ(read(keys).rank, 4) << keys;
  expect_refused("target_modules", "[\"v_proj\",\"proj\"]", needed);
  expect_refused("target_modules", "\"model\"", needed);
  expect_refused("exclude_modules", "[\"q_proj\"]", needed);
  expect_refused("exclude_modules", "\".*q.*\"", needed);
  expect_refused("modules_to_save", "[\"self_attn\"]", needed);
  expect_refused("layers_to_transform", "1", needed);
  expect_refused("layers_to_transform", "[1,10]", needed);
}

}  // namespace
}  // namespace tape::models
