#include "models/adapters/config.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "text/tokenizers/patterns/pattern.h"

namespace tape::models {
namespace {

/// The layer index at the start of `text`, if it is followed by a dot.
std::optional<int64_t> leading_index(std::string_view text) {
  int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool valid = error == std::errc() && text.front() != '-' && end != text.data() + text.size() && *end == '.';
  return valid ? std::optional(index) : std::nullopt;
}

/// peft's rule without layers_pattern: the first integer after two dots, as in "model.layers.3.mlp".
std::optional<int64_t> first_layer_index(const std::string& layer) {
  size_t dot = layer.find('.', layer.find('.') + 1);
  if (layer.find('.') == std::string::npos) return {};
  for (; dot != std::string::npos; dot = layer.find('.', dot + 1))
    if (const auto index = leading_index(std::string_view(layer).substr(dot + 1))) return index;
  return {};
}

/// The first integer after the pattern, which must match whole components of the name.
std::optional<int64_t> index_after(const std::string& layer, const std::string& pattern) {
  for (size_t at = layer.find(pattern); at != std::string::npos; at = layer.find(pattern, at + 1)) {
    const size_t end = at + pattern.size();
    if ((at != 0 && layer[at - 1] != '.') || end >= layer.size() || layer[end] != '.') continue;
    if (const auto index = leading_index(std::string_view(layer).substr(end + 1))) return index;
  }
  return {};
}

/// The strings of a list, or a single string as a list.
std::vector<std::string> texts(const ConfigReader& config, const char* key) {
  if (!config.has(key)) return {};
  if (config.json().at(key).is_array()) return config.names(key);
  const std::string text = config.text(key);
  return text.empty() ? std::vector<std::string>() : std::vector{text};
}

bool ends_in(const std::string& module, const std::string& name) {
  return module == name || module.ends_with(fmt::format(".{}", name));
}

/// Whether a regular expression is a plain module name, whose dots match themselves.
bool is_module_name(const std::string& text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  return !text.empty() && text.find_first_not_of(letters) == std::string::npos;
}

/// Selects modules whose full name matches the expression.
ModuleTest matching(const ConfigReader& config, const char* key, const std::string& expression) {
  try {
    const text::Pattern whole = text::oniguruma_pattern(fmt::format("\\A(?:{})\\z", expression), config.where());
    return [whole](const std::string& module) { return !whole(module).empty(); };
  } catch (const Error&) {
    config.wrong(key, "names or a supported regular expression");
  }
}

/// Selects modules by a list of names or one regular expression; empty if the key is missing, null or empty.
ModuleTest selected(const ConfigReader& config, const char* key) {
  if (!config.has(key)) return {};
  if (config.json().at(key).is_string()) {
    const std::string expression = config.text(key);
    return expression.empty() ? ModuleTest() : matching(config, key, expression);
  }
  if (!config.json().at(key).is_array()) config.wrong(key, "a list of names or a regular expression");
  const std::vector<std::string> names = config.names(key);
  if (names.empty()) return {};
  return [names](const std::string& module) {
    return std::ranges::any_of(names, [&](const std::string& name) { return ends_in(module, name); });
  };
}

}  // namespace

ModuleTest module_named(const ConfigReader& config, const std::string& key) {
  if (is_module_name(key)) return [key](const std::string& module) { return ends_in(module, key); };
  return matching(config, key.c_str(), fmt::format("(?:.*\\.)?(?:{})", key));
}

AdapterTargets::AdapterTargets(const ConfigReader& config)
    : config_(config), excluded_(selected(config, "exclude_modules")) {
  selected(config, "modules_to_save");  // only checks the value's form
  const auto is_list = [&](const char* key) { return config.has(key) && config.json().at(key).is_array(); };
  if (is_list("modules_to_save")) saved_ = config.names("modules_to_save");
  const bool is_text = config.has("target_modules") && config.json().at("target_modules").is_string();
  if (is_text && config.text("target_modules") == "all-linear")
    targets_ = [](const std::string&) { return true; };
  else
    targets_ = selected(config, "target_modules");
  if (!targets_) config.wrong("target_modules", "a list of names or a regular expression");
  if (config.has("layers_to_transform")) layers_ = config.integers("layers_to_transform");
  layer_patterns_ = texts(config, "layers_pattern");
  if (is_text && config.has("layers_to_transform"))
    config.wrong("layers_to_transform", "null if \"target_modules\" is a regular expression");
  if (!layer_patterns_.empty() && !config.has("layers_to_transform"))
    config.wrong("layers_pattern", "null without \"layers_to_transform\"");
  if (!std::ranges::all_of(layer_patterns_, is_module_name)) config.wrong("layers_pattern", "names of modules");
}

bool AdapterTargets::has_layer_index(const std::string& layer) const {
  std::optional<int64_t> index;
  if (layer_patterns_.empty()) index = first_layer_index(layer);
  for (const std::string& pattern : layer_patterns_)
    if (!index) index = index_after(layer, pattern);
  return index && std::ranges::find(layers_, *index) != layers_.end();
}

void AdapterTargets::check(const std::string& layer) const {
  const auto is_inside = [&](const std::string& name) {
    return fmt::format(".{}.", layer).find(fmt::format(".{}.", name)) != std::string::npos;
  };
  const auto refuse = [&](const char* key) { config_.wrong(key, fmt::format("such that {} has an adapter", layer)); };
  if (!targets_(layer)) refuse("target_modules");
  if (excluded_ && excluded_(layer)) refuse("exclude_modules");
  if (std::ranges::any_of(saved_, is_inside)) refuse("modules_to_save");
  if (!layers_.empty() && !has_layer_index(layer)) refuse("layers_to_transform");
}

}  // namespace tape::models
