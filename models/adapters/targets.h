#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../folders/config_reader.h"

namespace tape::models {

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

}  // namespace tape::models
