#include "models/folders/config_keys.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace tape::models::hugging_face {
namespace {

using nn::ActivationKind;

/// Activations that transformers names differently. If a kind has several names, the first is written.
constexpr std::array<std::pair<std::string_view, ActivationKind>, 7> kOtherNames{
    {{"gelu_new", ActivationKind::gelu_tanh},
     {"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
     {"gelu_fast", ActivationKind::gelu_tanh},
     {"gelu_accurate", ActivationKind::gelu_tanh},
     {"gelu_python_tanh", ActivationKind::gelu_tanh},
     {"gelu_python", ActivationKind::gelu},
     {"swish", ActivationKind::silu}}};

/// Whether transformers uses our name too.
bool shared_name(ActivationKind kind) { return kind != ActivationKind::gelu_tanh; }

}  // namespace

std::pair<std::string, std::string> json_text(const char* name, const nlohmann::ordered_json& json) {
  return {name, fmt::format("{}\n", json.dump(2))};
}

std::optional<ActivationKind> find_activation(std::string_view name) {
  for (const auto& [other, kind] : kOtherNames)
    if (name == other) return kind;
  for (const auto& [own, kind] : nn::activation_names())
    if (name == own && shared_name(kind)) return kind;
  return std::nullopt;
}

ActivationKind read_activation(const ConfigReader& config, const char* key, ActivationKind otherwise) {
  if (const auto kind = find_activation(config.text(key, activation_name(otherwise)))) return *kind;
  config.wrong(key,
               "one of relu, gelu, gelu_python, gelu_new, gelu_pytorch_tanh, gelu_python_tanh, gelu_fast, "
               "gelu_accurate, silu, swish, tanh, sigmoid");
}

std::string activation_name(ActivationKind kind) {
  if (shared_name(kind)) return std::string(nn::to_string(kind));
  const auto row =
      std::find_if(kOtherNames.begin(), kOtherNames.end(), [&](const auto& r) { return r.second == kind; });
  return std::string(row->first);
}

void check_supported(const ConfigReader& config) {
  for (const char* key : {"quantization_config", "attn_logit_softcapping", "final_logit_softcapping",
                          "query_pre_attn_scalar", "attention_multiplier", "clip_qkv", "attention_chunk_size",
                          "no_rope_layers", "num_experts", "num_local_experts"})
    if (config.has(key)) config.wrong(key, "left out");
  for (const char* key : {"embedding_multiplier", "residual_multiplier", "logits_scaling"})
    if (config.has(key) && config.json()[key] != 1) config.wrong(key, "1");
  if (config.has("add_cross_attention") && config.json()["add_cross_attention"] != false)
    config.wrong("add_cross_attention", "false");
}

void check_supported_decoder(const ConfigReader& config) {
  check_supported(config);
  config.require_flag("is_causal", true, true);  // false: bidirectional, for embeddings of text
}

nlohmann::ordered_json begin_config(std::string_view architecture, std::string_view model_type, DType dtype) {
  // transformers before 4.56 calls "dtype" "torch_dtype".
  const char* name = dtype == f64 ? "float64" : "float32";
  return {{"architectures", {architecture}}, {"model_type", model_type}, {"dtype", name}, {"torch_dtype", name}};
}

void write_labels(nlohmann::ordered_json& json, const std::vector<std::string>& labels) {
  auto ids = nlohmann::ordered_json::object(), names = nlohmann::ordered_json::object();
  for (const std::string& name : labels) {
    const auto id = static_cast<int64_t>(names.size());
    names[fmt::format("{}", id)] = name;
    ids[name] = id;
  }
  json["id2label"] = names;
  json["label2id"] = ids;
}

std::optional<ProblemType> read_problem_type(const ConfigReader& config) {
  if (!config.has("problem_type")) return {};
  const std::string name = config.text("problem_type");
  for (const ProblemType known :
       {ProblemType::regression, ProblemType::single_label_classification, ProblemType::multi_label_classification})
    if (name == to_string(known)) return known;
  config.wrong("problem_type", "one of regression, single_label_classification, multi_label_classification");
}

void write_problem_type(nlohmann::ordered_json& json, const std::optional<ProblemType>& type) {
  if (type) json["problem_type"] = to_string(*type);
}

}  // namespace tape::models::hugging_face
