#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../../autograd/tensor.h"
#include "../../nn/lora.h"
#include "../folders/config_reader.h"

// The two files of a peft adapter folder.
namespace tape::models {

/// Prefix that peft adds to the names of a model's tensors.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

std::string adapter_config_path(const std::string& folder);
std::string adapter_weights_path(const std::string& folder);

/// Whether a module of this name is selected.
using ModuleTest = std::function<bool(const std::string& module)>;

/// Selects modules by a key of adapter_config.json: a module's full name or its end, or a regular expression for the
/// full name. Throws Error (config) naming file and key for an unsupported expression.
ModuleTest module_named(const ConfigReader& config, const std::string& key);

/// The layers that peft gives an adapter: target_modules minus exclude_modules and modules_to_save, limited to
/// layers_to_transform. "all-linear" selects every layer.
class AdapterTargets {
 public:
  /// Throws Error (config) naming file and key for a value of the wrong form, and for keys that peft does not combine.
  explicit AdapterTargets(const ConfigReader& config);

  /// Throws Error (config) naming the key if peft would skip the tensors of this layer.
  void check(const std::string& layer) const;

 private:
  bool has_layer_index(const std::string& layer) const;

  const ConfigReader& config_;
  ModuleTest targets_, excluded_;
  std::vector<int64_t> layers_;
  std::vector<std::string> saved_, layer_patterns_;
};

/// How peft changes the base model's weight when it loads an adapter (init_lora_weights).
enum class BaseChange {
  none,
  pissa,  ///< subtracts the part of the r largest singular values (Meng et al. 2024)
  olora   ///< subtracts s Q R of the first r columns' QR factors (Büyükakyüz 2024)
};

/// adapter_config.json. Every key of peft 0.21 is honored, irrelevant to the computation, or rejected unless it is off;
/// other keys are rejected unless they are null, false or empty. The fine-tuning guide has the table.
class AdapterConfig {
 public:
  /// Throws Error (config) naming the file and the unsupported key; (format) and (io).
  explicit AdapterConfig(const std::string& folder);
  AdapterConfig(const AdapterConfig&) = delete;  // targets_ refers to config_
  AdapterConfig& operator=(const AdapterConfig&) = delete;

  /// Options of a layer, by peft's name for it. Throws Error (config) naming the key if peft would skip the layer.
  nn::LoraOptions of(const std::string& file_linear_name) const;
  BaseChange base_change() const { return base_change_; }
  /// Modules that are saved in full.
  std::vector<std::string> saved_modules() const { return config_.names("modules_to_save"); }
  std::string base_model() const { return config_.text("base_model_name_or_path", ""); }
  /// For example "SEQ_CLS"; "" if there is none.
  std::string task() const { return config_.text("task_type", ""); }

 private:
  struct Pattern {
    std::string key;
    ModuleTest names;
  };
  std::vector<Pattern> read_patterns(const char* key) const;
  void read_base_change();
  /// The first key that matches the layer.
  static std::optional<std::string> find(const std::vector<Pattern>& patterns, const std::string& file_linear_name);

  ConfigReader config_;
  nn::LoraOptions options_;
  BaseChange base_change_ = BaseChange::none;
  std::vector<Pattern> ranks_, alphas_;
  std::optional<AdapterTargets> targets_;
};

/// Contents of adapter_model.safetensors: adapters under the file's names, and fully trained tensors (modules_to_save)
/// under the names of the model's own file.
struct AdapterTensors {
  std::map<std::string, Tensor> low_rank, whole;
};
/// f16 and bf16 values become f32. Throws Error (format) naming the file and a tensor that belongs to no model; (io).
AdapterTensors read_adapter_tensors(const std::string& folder);

}  // namespace tape::models
