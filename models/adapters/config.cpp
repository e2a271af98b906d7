#include "models/adapters/config.h"

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "base/path.h"

namespace tape::models {

namespace {

constexpr const char* kConfig = "adapter_config.json";
constexpr const char* kWeights = "adapter_model.safetensors";

}  // namespace

std::string adapter_config_path(const std::string& folder) { return join_path(folder, kConfig); }
std::string adapter_weights_path(const std::string& folder) { return join_path(folder, kWeights); }

AdapterConfig::AdapterConfig(const std::string& folder)
    : config_(read_text(file_in_folder(folder, kConfig)), adapter_config_path(folder)) {
  if (config_.text("peft_type") != "LORA") config_.wrong("peft_type", "\"LORA\"");
  if (config_.text("bias", "none") != "none") config_.wrong("bias", "\"none\"");
  for (const char* key : {"lora_bias", "use_qalora"}) config_.require_flag(key, false, false);
  for (const char* key : {"layer_replication", "target_parameters", "trainable_token_indices", "megatron_config",
                          "alora_invocation_tokens", "arrow_config"})
    if (config_.has(key)) config_.wrong(key, "null");
  options_ = {.rank = config_.whole("r"),
              .alpha = config_.number("lora_alpha", 8),
              .dropout = config_.number("lora_dropout", 0),
              .rank_stabilized = config_.flag("use_rslora", false),
              .decomposed = config_.flag("use_dora", false)};
}

nn::LoraOptions AdapterConfig::of(const std::string& their_linear) const {
  nn::LoraOptions options = options_;
  if (const auto name = pattern("rank_pattern", their_linear))
    options.rank = config_.object("rank_pattern").whole(name->c_str());
  if (const auto name = pattern("alpha_pattern", their_linear))
    options.alpha = config_.object("alpha_pattern").number(name->c_str());
  return options;
}

std::optional<std::string> AdapterConfig::pattern(const char* key, const std::string& their_linear) const {
  if (!config_.has(key)) return {};
  const ConfigReader patterns = config_.object(key);
  for (const auto& [name, value] : patterns.json().items()) {
    if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != name.npos)
      patterns.wrong(name.c_str(), "a module's name or its end; other patterns are not read");
    if (their_linear == name || their_linear.ends_with(fmt::format(".{}", name))) return name;
  }
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
