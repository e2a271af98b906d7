#pragma once

#include <map>
#include <optional>
#include <string>

#include "../../autograd/tensor.h"
#include "../../nn/lora.h"
#include "../folders/config_reader.h"
#include "targets.h"

// The two files of a folder of the package peft.
namespace tape::models {

/// What peft puts in front of the names of a model's tensors.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

std::string adapter_config_path(const std::string& folder);
std::string adapter_weights_path(const std::string& folder);

/// How peft changes the base model's weight when it reads an adapter (init_lora_weights).
enum class BaseChange {
  none,
  pissa,  ///< subtracts the part of the r largest singular values (Meng et al. 2024)
  olora   ///< subtracts s Q R of the first r columns' QR factors (Büyükakyüz 2024)
};

/// adapter_config.json. Every key of peft 0.21 is followed, without effect on what is computed, or refused unless it is
/// off; other keys are refused unless they are null, false or empty. The guide on fine-tuning has the table.
class AdapterConfig {
 public:
  /// Error (config) naming the file, and the key of what is not supported; (format) and (io).
  explicit AdapterConfig(const std::string& folder);
  AdapterConfig(const AdapterConfig&) = delete;  // targets_ refers to config_
  AdapterConfig& operator=(const AdapterConfig&) = delete;

  /// The options of a layer, by peft's name for it. Error (config) naming the key by which peft would leave it out.
  nn::LoraOptions of(const std::string& their_linear) const;
  BaseChange base_change() const { return base_change_; }
  /// The modules that are saved whole.
  std::vector<std::string> saved_modules() const { return config_.names("modules_to_save"); }
  std::string base_model() const { return config_.text("base_model_name_or_path", ""); }
  /// "SEQ_CLS"; "" where there is none.
  std::string task() const { return config_.text("task_type", ""); }

 private:
  struct Pattern {
    std::string key;
    ModuleTest names;
  };
  std::vector<Pattern> read_patterns(const char* key) const;
  void read_base_change();
  /// The first of the keys that names the layer.
  static std::optional<std::string> find(const std::vector<Pattern>& patterns, const std::string& their_linear);

  ConfigReader config_;
  nn::LoraOptions options_;
  BaseChange base_change_ = BaseChange::none;
  std::vector<Pattern> ranks_, alphas_;
  std::optional<AdapterTargets> targets_;
};

/// What adapter_model.safetensors holds: adapters under its names, and what is trained whole (modules_to_save) under
/// those of the model's own file.
struct AdapterTensors {
  std::map<std::string, Tensor> low_rank, whole;
};
/// Values of f16 and bf16 become f32. Error (format) naming the file and a tensor that is no model's; (io).
AdapterTensors read_adapter_tensors(const std::string& folder);

}  // namespace tape::models
