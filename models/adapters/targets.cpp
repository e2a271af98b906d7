#include "models/adapters/targets.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tape::models {
namespace {

/// An index of a layer in text that begins with one, followed by a dot.
std::optional<int64_t> leading_index(std::string_view text) {
  int64_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  const bool valid = error == std::errc() && text.front() != '-' && end != text.data() + text.size() && *end == '.';
  return valid ? std::optional(index) : std::nullopt;
}

/// peft's rule without layers_pattern: the first number behind two dots, "model.layers.3.mlp".
std::optional<int64_t> index_of_any(const std::string& layer) {
  size_t dot = layer.find('.', layer.find('.') + 1);
  if (layer.find('.') == std::string::npos) return {};
  for (; dot != std::string::npos; dot = layer.find('.', dot + 1))
    if (const auto index = leading_index(std::string_view(layer).substr(dot + 1))) return index;
  return {};
}

/// The first number behind the pattern as a whole part of the name.
std::optional<int64_t> index_behind(const std::string& layer, const std::string& pattern) {
  for (size_t at = layer.find(pattern); at != std::string::npos; at = layer.find(pattern, at + 1)) {
    const size_t end = at + pattern.size();
    if ((at != 0 && layer[at - 1] != '.') || end >= layer.size() || layer[end] != '.') continue;
    if (const auto index = leading_index(std::string_view(layer).substr(end + 1))) return index;
  }
  return {};
}

/// The texts in a list, or the one in its place.
std::vector<std::string> texts(const ConfigReader& config, const char* key) {
  if (!config.has(key)) return {};
  if (config.json().at(key).is_array()) return config.names(key);
  const std::string text = config.text(key);
  return text.empty() ? std::vector<std::string>() : std::vector{text};
}

}  // namespace

bool is_module_name(const std::string& text) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
  return !text.empty() && text.find_first_not_of(letters) == std::string::npos;
}

bool matches_whole(const text::Pattern& expression, const std::string& text) {
  return !expression.matches(text).empty();
}

std::shared_ptr<const text::Pattern> whole_expression(const ConfigReader& config, const char* key,
                                                      const std::string& expression) {
  try {
    return text::oniguruma_pattern(fmt::format("\\A(?:{})\\z", expression), config.where());
  } catch (const Error&) {
    config.wrong(key, "names or a regular expression that is supported");
  }
}

ModuleNames::ModuleNames(const ConfigReader& config, const char* key) {
  if (!config.has(key)) return;
  if (config.json().at(key).is_string()) {
    if (const std::string expression = config.text(key); !expression.empty())
      expression_ = whole_expression(config, key, expression);
  } else if (config.json().at(key).is_array()) {
    names_ = config.names(key);
  } else {
    config.wrong(key, "a list of names or a regular expression");
  }
}

bool ModuleNames::contains(const std::string& module) const {
  if (expression_) return matches_whole(*expression_, module);
  return std::ranges::any_of(names_, [&](const std::string& name) {
    return module == name || (module.ends_with(name) && module[module.size() - name.size() - 1] == '.');
  });
}

AdapterTargets::AdapterTargets(const ConfigReader& config)
    : config_(config), excluded_(config, "exclude_modules"), saved_(config, "modules_to_save") {
  const bool is_text = config.has("target_modules") && config.json().at("target_modules").is_string();
  all_linear_ = is_text && config.text("target_modules") == "all-linear";
  if (!all_linear_) targets_ = ModuleNames(config, "target_modules");
  if (!all_linear_ && targets_.empty()) config.wrong("target_modules", "a list of names or a regular expression");
  if (config.has("layers_to_transform")) layers_ = config.whole_numbers("layers_to_transform");
  layer_patterns_ = texts(config, "layers_pattern");
  if (is_text && config.has("layers_to_transform"))
    config.wrong("layers_to_transform", "null beside a regular expression as \"target_modules\"");
  if (!layer_patterns_.empty() && !config.has("layers_to_transform"))
    config.wrong("layers_pattern", "null without \"layers_to_transform\"");
  if (!std::ranges::all_of(layer_patterns_, is_module_name)) config.wrong("layers_pattern", "names of modules");
}

bool AdapterTargets::has_layer_index(const std::string& layer) const {
  std::optional<int64_t> index;
  if (layer_patterns_.empty()) index = index_of_any(layer);
  for (const std::string& pattern : layer_patterns_)
    if (!index) index = index_behind(layer, pattern);
  return index && std::ranges::find(layers_, *index) != layers_.end();
}

void AdapterTargets::check(const std::string& layer) const {
  const auto lies_in = [&](const std::string& name) {
    return fmt::format(".{}.", layer).find(fmt::format(".{}.", name)) != std::string::npos;
  };
  const auto refuse = [&](const char* key) { config_.wrong(key, fmt::format("such that {} has an adapter", layer)); };
  if (!all_linear_ && !targets_.contains(layer)) refuse("target_modules");
  if (excluded_.contains(layer)) refuse("exclude_modules");
  if (std::ranges::any_of(saved_.names(), lies_in)) refuse("modules_to_save");
  if (!layers_.empty() && !has_layer_index(layer)) refuse("layers_to_transform");
}

}  // namespace tape::models
