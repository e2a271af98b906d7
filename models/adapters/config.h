#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/tensor.h"
#include "../../nn/lora.h"
#include "../folders/config_reader.h"

// The two files of a folder of the package peft.
namespace tape::models {

/// What peft puts in front of the names of a model's tensors.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

std::string adapter_config_path(const std::string& folder);
std::string adapter_weights_path(const std::string& folder);

/// Whether a module of this name is meant.
using ModuleTest = std::function<bool(const std::string& module)>;

/// Modules by a key of adapter_config.json: of a name, which is the module's whole name or its end, or of a regular
/// expression for the whole name. Error (config) naming file and key for an expression that is not supported.
ModuleTest module_named(const ConfigReader& config, const std::string& key);

/// The layers that peft gives an adapter: target_modules without exclude_modules and modules_to_save, of the layers in
/// layers_to_transform. "all-linear" selects every layer.
class AdapterTargets {
 public:
  /// Error (config) naming file and key for a value of another form, and for keys that peft does not take together.
  explicit AdapterTargets(const ConfigReader& config);

  /// Error (config) naming the key by which peft would leave out the tensors of this layer.
  void check(const std::string& layer) const;

 private:
  bool has_layer_index(const std::string& layer) const;

  const ConfigReader& config_;
  ModuleTest targets_, excluded_;
  std::vector<int64_t> layers_;
  std::vector<std::string> saved_, layer_patterns_;
};

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
