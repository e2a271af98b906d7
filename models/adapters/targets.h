#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../text/tokenizers/pattern.h"
#include "../folders/config_reader.h"

namespace tape::models {

/// Modules selected by name in adapter_config.json: a list of names, each the module's whole name or its end, or one
/// regular expression for the whole name.
class ModuleNames {
 public:
  ModuleNames() = default;
  /// An absent or null key selects none. Error (config) naming file and key for any other form.
  ModuleNames(const ConfigReader& config, const char* key);

  bool empty() const { return names_.empty() && !expression_; }
  bool is_expression() const { return expression_ != nullptr; }
  bool contains(const std::string& module) const;
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::shared_ptr<const text::Pattern> expression_;
};

/// Whether a regular expression is a plain name of modules; its dots match themselves.
bool is_module_name(const std::string& text);
/// Whether the regular expression matches the whole text.
bool matches_whole(const text::Pattern& expression, const std::string& text);
/// An expression anchored at both ends of the text. Error (config) naming file and key for one that is not supported.
std::shared_ptr<const text::Pattern> whole_expression(const ConfigReader& config, const char* key,
                                                      const std::string& expression);

/// The layers that peft gives an adapter: target_modules without exclude_modules and modules_to_save, of the layers in
/// layers_to_transform. "all-linear" selects every layer.
class AdapterTargets {
 public:
  /// Error (config) as ModuleNames, and for keys that peft does not take together.
  explicit AdapterTargets(const ConfigReader& config);

  /// Error (config) naming the key by which peft would leave out the tensors of this layer.
  void check(const std::string& layer) const;

 private:
  bool has_layer_index(const std::string& layer) const;

  const ConfigReader& config_;
  bool all_linear_ = false;
  ModuleNames targets_, excluded_, saved_;
  std::vector<int64_t> layers_;
  std::vector<std::string> layer_patterns_;
};

}  // namespace tape::models
