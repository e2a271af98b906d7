// config.json of GPT-2, Llama, Mistral, Qwen2, Qwen3 and GPT-NeoX: spellings of several versions, unsupported values.

#include <fmt/format.h>

#include "models/families.h"
#include "models/folders/family_of.h"
#include "tests/support/errors.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

LlamaConfig read_llama(const char* architecture, const ConfigReader& config) {
  return hf::family_of_class<Llama>(hf::llama_family()).read(architecture, config);
}
GptConfig read_gpt(const ConfigReader& config) {
  return hf::family_of_class<Gpt>(hf::gpt_family()).read("GPT2LMHeadModel", config);
}
GptNeoXConfig read_neox(const ConfigReader& config) {
  return hf::family_of_class<GptNeoX>(hf::gpt_neox_family()).read("GPTNeoXForCausalLM", config);
}

ConfigReader config_of(const std::string& fields) { return {fmt::format("{{{}}}", fields), "config.json"}; }

nn::RotaryOptions rotary(const std::string& fields) { return read_llama("LlamaForCausalLM", config_of(fields)).rotary; }

TEST(DecoderConfigs, ReadBothSpellingsOfRotaryKeys) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const nn::RotaryOptions options = rotary(fmt::format(
        R"("rope_theta": 500000.0, "{}": {{"rope_type": "llama3", "factor": 32, "low_freq_factor": 1,
           "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}})",
        name));
    EXPECT_EQ(options.theta, 500000);
    EXPECT_EQ(options.scaling, nn::RotaryScaling(nn::Llama3Scaling{.factor = 32, .original_length = 8192}));
  }
  EXPECT_EQ(rotary(R"("rope_theta": 1.0, "rope_parameters": {"rope_theta": 2.0, "rope_type": "default"})").theta, 2);
  // Empty or null counts as missing; the old name takes precedence, as in transformers.
  EXPECT_EQ(rotary(R"("rope_scaling": null, "rope_parameters": {"type": "linear", "factor": 2})").scaling,
            nn::RotaryScaling(nn::LinearScaling{2}));
  EXPECT_EQ(
      rotary(R"("rope_scaling": {"type": "linear", "factor": 3}, "rope_parameters": {"rope_type": "default"})").scaling,
      nn::RotaryScaling(nn::LinearScaling{3}));
}

TEST(DecoderConfigs, ReadEveryRotaryScaling) {
  EXPECT_EQ(rotary(R"("max_position_embeddings": 100, "rope_scaling": {"type": "dynamic", "factor": 2})").scaling,
            nn::RotaryScaling(nn::DynamicScaling{.factor = 2, .original_length = 100}));
  EXPECT_EQ(rotary(R"("rope_scaling": {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 64,
                      "beta_fast": null, "mscale": 0.7, "mscale_all_dim": 0, "truncate": false})")
                .scaling,
            nn::RotaryScaling(nn::YarnScaling{.factor = 4, .original_length = 64, .mscale = 0.7, .truncate = false}));
  // The training length: top-level, in the object, or the model's own; a null factor is derived from it.
  EXPECT_EQ(rotary(R"("max_position_embeddings": 512, "original_max_position_embeddings": 128,
                      "rope_scaling": {"rope_type": "yarn", "factor": null})")
                .scaling,
            nn::RotaryScaling(nn::YarnScaling{.factor = 4, .original_length = 128}));
  EXPECT_EQ(rotary(R"("max_position_embeddings": 512, "rope_scaling": {"rope_type": "yarn", "factor": 2})").scaling,
            nn::RotaryScaling(nn::YarnScaling{.factor = 2, .original_length = 512}));
}

TEST(DecoderConfigs, RefuseOtherRotaryScalings) {
  const auto refused = [](const std::string& fields, const std::string& sentence) {
    EXPECT_TAPE_ERROR(rotary(fields), ErrorKind::config, fmt::format("config.json: {}", sentence));
  };
  refused(R"("rope_scaling": {"rope_type": "longrope"})",
          "\"rope_scaling\": \"rope_type\" must be one of default, linear, dynamic, llama3, yarn, got \"longrope\"");
  refused(R"("rope_scaling": {"type": "su"})",
          "\"rope_scaling\": \"type\" must be one of default, linear, dynamic, llama3, yarn, got \"su\"");
  refused(R"("rope_parameters": {"rope_type": "linear"})", "\"rope_parameters\": \"factor\" is missing");
  refused(R"("rope_parameters": {"mrope_section": [1, 2]})", "\"rope_parameters\": \"mrope_section\" is not supported");
  refused(R"("rope_parameters": {"full_attention": {"rope_type": "default"}})",
          "\"rope_parameters\": \"full_attention\" is not supported");
  refused(R"("rope_parameters": [1])", "\"rope_parameters\" must be an object, got [1]");
  refused(R"("partial_rotary_factor": 0.5)", "\"partial_rotary_factor\" must be 1, got 0.5");
}

TEST(DecoderConfigs, DistinguishNullFromAMissingKey) {
  EXPECT_EQ(read_llama("LlamaForCausalLM", config_of("")).bos_id, 1);
  EXPECT_EQ(read_llama("LlamaForCausalLM", config_of(R"("bos_token_id": null)")).bos_id, std::nullopt);
  EXPECT_EQ(read_llama("LlamaForCausalLM", config_of(R"("eos_token_id": null)")).eos_ids, std::vector<int64_t>());
  EXPECT_EQ(read_llama("LlamaForCausalLM", config_of(R"("eos_token_id": [5, 6])")).eos_ids,
            (std::vector<int64_t>{5, 6}));
  EXPECT_EQ(read_llama("MistralForCausalLM", config_of("")).window, 4096);
  EXPECT_EQ(read_llama("MistralForCausalLM", config_of(R"("sliding_window": null)")).window, std::nullopt);
  EXPECT_EQ(completed(read_llama("MistralForCausalLM", config_of(R"("num_key_value_heads": null)"))).kv_heads, 32);
  EXPECT_EQ(read_llama("LlamaForCausalLM", config_of(R"("pad_token_id": -1)")).padding_id, 31999)
      << "as torch counts it";
}

TEST(DecoderConfigs, SelectTheLayersWithWindows) {
  const auto layers = [](const std::string& fields) {
    const LlamaConfig c =
        read_llama("Qwen2ForCausalLM", config_of(fmt::format("\"num_hidden_layers\": 3, {}", fields)));
    std::string found;
    for (int64_t i = 0; i < 3; ++i) found += has_window(c, i) ? 'w' : '.';
    return found;
  };
  EXPECT_EQ(layers(R"("max_window_layers": 1)"), "...");
  EXPECT_EQ(layers(R"("use_sliding_window": true, "max_window_layers": 1)"), ".ww");
  EXPECT_EQ(layers(R"("use_sliding_window": true, "max_window_layers": 0)"), "www");
  EXPECT_EQ(layers(R"("use_sliding_window": true)"), "...") << "the first 28 layers have none";
  EXPECT_EQ(layers(R"("use_sliding_window": true, "sliding_window": null, "max_window_layers": 0)"), "...");
  EXPECT_EQ(layers(R"("use_sliding_window": true,
                      "layer_types": ["sliding_attention", "full_attention", "sliding_attention"])"),
            "w.w");
  EXPECT_TAPE_ERROR(layers(R"("layer_types": ["full_attention", "linear_attention", "full_attention"])"),
                    ErrorKind::config,
                    "config.json: \"layer_types\" must be full_attention or sliding_attention, got "
                    "[\"full_attention\",\"linear_attention\",\"full_attention\"]");
  EXPECT_TAPE_ERROR(
      read_llama("MistralForCausalLM", config_of(R"("layer_types": ["full_attention"])")), ErrorKind::config,
      "config.json: \"layer_types\" must be \"sliding_attention\" for every layer, got [\"full_attention\"]");
}

TEST(DecoderConfigs, AcceptEveryActivationNameOfTransformers) {
  using Kind = nn::ActivationKind;
  for (const auto& [name, kind] :
       {std::pair{"gelu", Kind::gelu}, std::pair{"gelu_python", Kind::gelu}, std::pair{"gelu_new", Kind::gelu_tanh},
        std::pair{"gelu_pytorch_tanh", Kind::gelu_tanh}, std::pair{"gelu_python_tanh", Kind::gelu_tanh},
        std::pair{"gelu_fast", Kind::gelu_tanh}, std::pair{"gelu_accurate", Kind::gelu_tanh},
        std::pair{"silu", Kind::silu}, std::pair{"swish", Kind::silu}, std::pair{"relu", Kind::relu},
        std::pair{"tanh", Kind::tanh}, std::pair{"sigmoid", Kind::sigmoid}})
    EXPECT_EQ(read_llama("LlamaForCausalLM", config_of(fmt::format("\"hidden_act\": \"{}\"", name))).activation, kind)
        << name;
}

TEST(DecoderConfigs, RefuseUnsupportedComputations) {
  const auto refused = [](const std::string& field, const std::string& sentence) {
    EXPECT_TAPE_ERROR(read_llama("Qwen3ForCausalLM", config_of(field)), ErrorKind::config,
                      fmt::format("config.json: {}", sentence));
    EXPECT_TAPE_ERROR(read_neox(config_of(field)), ErrorKind::config, fmt::format("config.json: {}", sentence));
  };
  // Llamas that were trained further to embed texts are bidirectional.
  refused(R"("is_causal": false)", "\"is_causal\" must be true, got false");
  EXPECT_TAPE_ERROR(read_gpt(config_of(R"("is_causal": false)")), ErrorKind::config,
                    "config.json: \"is_causal\" must be true, got false");
  EXPECT_TAPE_ERROR(read_gpt(config_of(R"("quantization_config": {"bits": 4})")), ErrorKind::config,
                    "config.json: \"quantization_config\" must be left out, got {\"bits\":4}");
  refused(R"("quantization_config": {"bits": 4})", "\"quantization_config\" must be left out, got {\"bits\":4}");
  refused(R"("logits_scaling": 8.0)", "\"logits_scaling\" must be 1, got 8.0");
  refused(R"("final_logit_softcapping": 30.0)", "\"final_logit_softcapping\" must be left out, got 30.0");
  refused(R"("num_local_experts": 8)", "\"num_local_experts\" must be left out, got 8");
  refused(R"("hidden_act": "mish")",
          "\"hidden_act\" must be one of relu, gelu, gelu_python, gelu_new, gelu_pytorch_tanh, gelu_python_tanh, "
          "gelu_fast, "
          "gelu_accurate, silu, swish, tanh, sigmoid, got \"mish\"");
  EXPECT_TAPE_ERROR(read_llama("LlamaForCausalLM", config_of(R"("num_hidden_layers": 70000)")), ErrorKind::config,
                    "config.json: \"num_hidden_layers\" must be at most 65536, got 70000");
  EXPECT_TAPE_ERROR(read_llama("LlamaForCausalLM", config_of(R"("eos_token_id": [1, "2"])")), ErrorKind::config,
                    "config.json: \"eos_token_id\" must be an integer or a list of integers, got [1,\"2\"]");
  // These have no effect.
  read_llama(
      "LlamaForCausalLM",
      config_of(
          R"("logits_scaling": 1.0, "quantization_config": null, "pretraining_tp": 4, "is_llama_config": true, "x": {})"));
}

TEST(DecoderConfigs, ReadTransformersGeneralNamesOfGptsSizes) {
  const GptConfig c = read_gpt(config_of(
      R"("n_head": 2, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4, "max_position_embeddings": 9)"));
  EXPECT_EQ(c.d_model, 24);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.heads, 4);  // of both names, the general one decides
  EXPECT_EQ(c.max_length, 9);
  EXPECT_EQ(read_gpt(config_of(R"("n_head": 2, "num_attention_heads": null)")).heads, 2);
}

TEST(DecoderConfigs, ReadTheKeyNamesOfGptNeoX) {
  EXPECT_EQ(read_neox(config_of("")).rotary.fraction, 0.25);
  const GptNeoXConfig old = read_neox(config_of(R"("rotary_pct": 1.0, "rotary_emb_base": 100)"));
  EXPECT_EQ(old.rotary.fraction, 1);
  EXPECT_EQ(old.rotary.theta, 100);
  const GptNeoXConfig now = read_neox(
      config_of(R"("rope_parameters": {"rope_type": "default", "rope_theta": 50, "partial_rotary_factor": 0.5})"));
  EXPECT_EQ(now.rotary.fraction, 0.5);
  EXPECT_EQ(now.rotary.theta, 50);
}

TEST(DecoderConfigs, AreUnchangedByWritingAndReading) {
  const auto& family = hf::family_of_class<Llama>(hf::llama_family());
  const auto again = [&family](const LlamaConfig& c, const char* architecture) {
    const auto json = family.json(completed(c), f64);
    EXPECT_EQ(json.at("dtype"), "float64");
    const LlamaConfig found = completed(family.read(architecture, ConfigReader(json.dump(), "config.json")));
    EXPECT_EQ(family.json(found, f64), json);
    return found;
  };
  LlamaConfig c{.layers = 3, .kv_heads = 4, .head_width = 64, .padding_id = 3, .bos_id = {}, .eos_ids = {1, 2}};
  c.attention_bias = c.mlp_bias = c.tie_output = true;
  for (const nn::RotaryScaling& scaling :
       {nn::RotaryScaling(), nn::RotaryScaling(nn::LinearScaling{2}), nn::RotaryScaling(nn::DynamicScaling{2, 2048}),
        nn::RotaryScaling(nn::Llama3Scaling{}),
        nn::RotaryScaling(nn::YarnScaling{.factor = 3,
        .original_length = 99,
        .beta_fast = 20,
        .attention_factor = 1.5,
        .mscale = 2,
        .mscale_all_dim = 3})}) {
    c.rotary = {.theta = 777, .scaling = scaling};
    const nn::RotaryOptions found = again(c, "LlamaForCausalLM").rotary;
    EXPECT_EQ(found.scaling, scaling);
    EXPECT_EQ(found.theta, 777);
  }
  c = {.kind = LlamaKind::qwen3, .layers = 3, .window = 7, .window_layers = {false, true, true}};
  EXPECT_EQ(again(c, "Qwen3ForCausalLM").window_layers, c.window_layers);
  EXPECT_EQ(again({.kind = LlamaKind::mistral, .window = 9}, "MistralForCausalLM").window, 9);
  EXPECT_EQ(again({.kind = LlamaKind::mistral}, "MistralForCausalLM").window, std::nullopt);
}

}  // namespace
}  // namespace tape::models
