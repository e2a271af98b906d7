#pragma once

#include <map>
#include <optional>
#include <string>

#include "../../autograd/tensor.h"
#include "../../nn/lora.h"
#include "../config_reader.h"

// The two files of a folder of the package peft.
namespace tape::models {

/// What peft puts in front of the names of a model's tensors.
inline constexpr std::string_view kAdapterPrefix = "base_model.model.";

std::string adapter_config_path(const std::string& folder);
std::string adapter_weights_path(const std::string& folder);

/// adapter_config.json: the options that it gives each layer.
class AdapterConfig {
 public:
  /// Error (config) naming the file, and the key of what is not computed here; (format) and (io).
  explicit AdapterConfig(const std::string& folder);

  /// Of a layer that peft calls so.
  nn::LoraOptions of(const std::string& their_linear) const;
  std::string base_model() const { return config_.text("base_model_name_or_path", ""); }
  /// "SEQ_CLS"; "" where there is none.
  std::string task() const { return config_.text("task_type", ""); }

 private:
  /// The first key of such an object that is the layer's name or its end.
  std::optional<std::string> pattern(const char* key, const std::string& their_linear) const;

  ConfigReader config_;
  nn::LoraOptions options_;
};

/// What adapter_model.safetensors holds: adapters under its names, and what is trained whole (modules_to_save) under
/// those of the model's own file.
struct AdapterTensors {
  std::map<std::string, Tensor> low_rank, whole;
};
/// Values of f16 and bf16 become f32. Error (format) naming the file and a tensor that is no model's; (io).
AdapterTensors read_adapter_tensors(const std::string& folder);

}  // namespace tape::models
