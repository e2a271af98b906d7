#include "models/adapters/config.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "base/path.h"

namespace tape::models {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kConfig = "adapter_config.json";
constexpr const char* kWeights = "adapter_model.safetensors";

/// Keys that AdapterConfig and AdapterTargets read.
constexpr std::array kFollowed{"peft_type",
                               "task_type",
                               "r",
                               "lora_alpha",
                               "lora_dropout",
                               "use_rslora",
                               "use_dora",
                               "rank_pattern",
                               "alpha_pattern",
                               "init_lora_weights",
                               "target_modules",
                               "exclude_modules",
                               "layers_pattern",
                               "layers_to_transform",
                               "modules_to_save",
                               "base_model_name_or_path",
                               "bias"};
/// Keys that do not affect what an adapter computes: notes, options of training and initialization, and properties
/// that follow from the tensors.
constexpr std::array kIgnoredKeys{"auto_mapping",        "peft_version",     "revision",       "inference_mode",
                                  "fan_in_fan_out",      "megatron_core",    "loftq_config",   "eva_config",
                                  "corda_config",        "lora_ga_config",   "runtime_config", "velora_config",
                                  "ensure_weight_tying", "qalora_group_size"};
/// LoRA variants that peft enables even if their options are an empty object.
constexpr std::array kVariants{"arrow_config", "kasa_config", "monteclora_config", "use_bdlora"};
constexpr std::array kOtherVariants{"lora_bias",
                                    "use_qalora",
                                    "layer_replication",
                                    "target_parameters",
                                    "megatron_config",
                                    "trainable_token_indices",
                                    "alora_invocation_tokens"};
constexpr std::array kTasks{"SEQ_CLS", "SEQ_2_SEQ_LM", "CAUSAL_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION"};

template <class Keys>
bool has_key(const Keys& keys, const std::string& key) {
  return std::ranges::find(keys, key) != keys.end();
}

bool is_off(const Json& value) {
  if (value.is_null() || value == false) return true;
  return value.is_string() ? value.get_ref<const std::string&>().empty() : value.is_structured() && value.empty();
}

/// Rejects options that change the computation and keys that peft 0.21 does not have.
void check_keys(const ConfigReader& config) {
  for (const auto& [key, value] : config.json().items()) {
    if (has_key(kFollowed, key) || has_key(kIgnoredKeys, key)) continue;
    if (has_key(kVariants, key)) {
      if (!value.is_null()) config.wrong(key.c_str(), "null");
    } else if (!is_off(value)) {
      const bool known = has_key(kOtherVariants, key);
      config.wrong(key.c_str(), known ? "null, false or empty" : "null, false or empty, because it is an unknown key");
    }
  }
  for (const char* key : {"r", "lora_alpha", "lora_dropout", "bias"})
    if (config.contains(key) && !config.has(key)) config.wrong(key, "a value");
}

}  // namespace

std::string adapter_config_path(const std::string& folder) { return join_path(folder, kConfig); }
std::string adapter_weights_path(const std::string& folder) { return join_path(folder, kWeights); }

AdapterConfig::AdapterConfig(const std::string& folder)
    : config_(read_text(file_in_folder(folder, kConfig)), adapter_config_path(folder)) {
  if (config_.text("peft_type") != "LORA") config_.wrong("peft_type", "\"LORA\"");
  check_keys(config_);
  if (config_.has("task_type") && !has_key(kTasks, task()))
    config_.wrong("task_type", fmt::format("null or one of {}", fmt::join(kTasks, ", ")));
  if (config_.text("bias", "none") != "none") config_.wrong("bias", "\"none\"");
  options_ = {.rank = config_.whole("r", 8),
              .alpha = config_.number("lora_alpha", 8),
              .dropout = config_.number("lora_dropout", 0),
              .rank_stabilized = config_.flag("use_rslora", false),
              .decomposed = config_.flag("use_dora", false)};
  read_base_change();
  ranks_ = read_patterns("rank_pattern");
  alphas_ = read_patterns("alpha_pattern");
  targets_.emplace(config_);
}

void AdapterConfig::read_base_change() {
  constexpr const char* kKey = "init_lora_weights";
  if (!config_.has(kKey) || config_.json().at(kKey).is_boolean() || is_off(config_.json().at(kKey))) return;
  const std::string name = config_.text(kKey);
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  // Like peft, ignore case for some names only.
  if (has_key(std::array{"eva", "orthogonal", "lora_ga"}, name) || lower == "gaussian" || lower == "mica") return;
  if (name == "pissa") {
    base_change_ = BaseChange::pissa;
  } else if (lower == "olora") {
    base_change_ = BaseChange::olora;
  } else if (name.starts_with("pissa_niter_")) {
    config_.wrong(kKey,
                  "a deterministic initialization, because a random one changes the base model differently at each "
                  "load (save_pretrained's path_initial_model_for_weight_conversion makes it a plain adapter)");
  } else {
    config_.wrong(kKey,
                  "true, false, gaussian, eva, orthogonal, mica, lora_ga, pissa or olora; others change the base "
                  "model by values that are not in the folder");
  }
}

nn::LoraOptions AdapterConfig::of(const std::string& file_linear_name) const {
  targets_->check(file_linear_name);
  nn::LoraOptions options = options_;
  if (const auto key = find(ranks_, file_linear_name))
    options.rank = config_.object("rank_pattern").whole(key->c_str());
  if (const auto key = find(alphas_, file_linear_name))
    options.alpha = config_.object("alpha_pattern").number(key->c_str());
  return options;
}

std::vector<AdapterConfig::Pattern> AdapterConfig::read_patterns(const char* key) const {
  if (!config_.has(key)) return {};
  const ConfigReader patterns = config_.object(key);
  std::vector<Pattern> found;
  for (const auto& [name, value] : patterns.json().items()) found.push_back({name, module_named(patterns, name)});
  return found;
}

std::optional<std::string> AdapterConfig::find(const std::vector<Pattern>& patterns,
                                               const std::string& file_linear_name) {
  for (const auto& [key, names] : patterns)
    if (names(file_linear_name)) return key;
  return {};
}

AdapterTensors read_adapter_tensors(const std::string& folder) {
  const std::string where = file_in_folder(folder, kWeights);
  AdapterTensors tensors;
  for (const auto& [name, tensor] : load_safetensors(where).tensors) {
    if (!name.starts_with(kAdapterPrefix))
      raise(ErrorKind::format, "{}: \"{}\" does not begin with \"{}\"", where, name, kAdapterPrefix);
    const std::string rest = name.substr(kAdapterPrefix.size());
    (rest.rfind(".lora_") == rest.npos ? tensors.whole[rest] : tensors.low_rank[name]) =
        is_floating(tensor.dtype()) && tensor.dtype() != f64 ? tensor.to(f32) : tensor;
  }
  return tensors;
}

}  // namespace tape::models
