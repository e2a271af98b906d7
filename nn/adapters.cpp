#include "nn/adapters.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/module_path.h"
#include "base/short_list.h"
#include "nn/embedding/embedding.h"
#include "nn/linear.h"

namespace tape::nn {
namespace {

using Linears = std::vector<std::pair<std::string, Linear*>>;

bool is_target(const std::string& path, const std::string& target) {
  return target == "all-linear" || matches_pattern(path, target) || matches_pattern(path, "*." + target);
}

void check_targets(const Linears& layers, const std::vector<std::string>& targets) {
  if (targets.empty()) raise(ErrorKind::config, "add_adapter: no targets");
  for (const std::string& target : targets) {
    if (std::ranges::any_of(layers, [&](const auto& linear) { return is_target(linear.first, target); })) continue;
    std::set<std::string> ends;
    for (const auto& [path, linear] : layers) ends.insert(path.substr(path.rfind('.') + 1));
    raise(ErrorKind::config, "add_adapter: no Linear layer matches the target \"{}\"; their names end in {}", target,
          short_list({ends.begin(), ends.end()}));
  }
}

void check_not_merged(const Linears& layers, const char* who) {
  for (const auto& [path, linear] : layers)
    if (linear->is_merged()) raise(ErrorKind::config, "{}: the adapters of {} are merged into its weight", who, path);
}

/// Returns the layers that have an adapter of this name. Throws Error (config) `who: ...` if there are none.
Linears layers_with(Module& model, const char* who, const std::string& name) {
  Linears layers = named_linears(model);
  std::erase_if(layers, [&](const auto& linear) { return !linear.second->adapter(name); });
  if (!layers.empty()) return layers;
  const std::vector<std::string> names = adapter_names(model);
  raise(ErrorKind::config, "{}: the model has no adapter \"{}\"{}{}", who, name, names.empty() ? "" : "; it has ",
        names.empty() ? "" : short_list(names));
}

}  // namespace

std::vector<std::pair<std::string, Linear*>> named_linears(Module& model) {
  Linears found;
  for (auto& [path, module] : model.named_modules())
    if (auto* const linear = dynamic_cast<Linear*>(module)) found.emplace_back(path, linear);
  return found;
}

std::vector<std::string> find_adapter_targets(Module& model, const std::vector<std::string>& targets,
                                              const std::vector<std::string>& except) {
  Linears layers = named_linears(model);
  std::erase_if(layers, [&](const auto& linear) {
    return std::ranges::any_of(except, [&](const std::string& module) { return is_in_module(linear.first, module); });
  });
  check_targets(layers, targets);
  std::vector<std::string> paths;
  for (const auto& layer : layers)
    if (std::ranges::any_of(targets, [&](const std::string& target) { return is_target(layer.first, target); }))
      paths.push_back(layer.first);
  return paths;
}

void add_adapters(Module& model, const std::string& name,
                  const std::vector<std::pair<std::string, LoraOptions>>& layers) {
  const Linears all = named_linears(model);
  check_not_merged(all, "add_adapter");
  const std::map<std::string, Linear*> by_path(all.begin(), all.end());
  for (const auto& [path, options] : layers) {
    if (!by_path.contains(path)) raise(ErrorKind::config, "add_adapter: {} is not a Linear layer of the model", path);
    if (by_path.at(path)->adapter(name))
      raise(ErrorKind::config, "add_adapter: {} already has an adapter \"{}\"", path, name);
  }
  std::vector<Linear*> done;
  try {
    for (const auto& [path, options] : layers) {
      by_path.at(path)->add_adapter(name, options);
      done.push_back(by_path.at(path));
    }
  } catch (...) {  // options out of range, or out of memory
    for (Linear* const linear : done) linear->remove_adapter(name);
    throw;
  }
}

std::vector<std::string> add_adapter(Module& model, const std::string& name, const LoraOptions& options,
                                     const std::vector<std::string>& targets) {
  std::vector<std::string> paths = find_adapter_targets(model, targets);
  std::vector<std::pair<std::string, LoraOptions>> layers;
  layers.reserve(paths.size());
  for (const std::string& path : paths) layers.emplace_back(path, options);
  add_adapters(model, name, layers);
  return paths;
}

std::vector<std::string> adapter_names(Module& model) {
  std::vector<std::string> names;
  for (const auto& [path, linear] : named_linears(model))
    for (std::string& name : linear->adapter_names())
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  return names;
}

void activate_adapter(Module& model, const std::string& name) {
  const Linears layers = named_linears(model);
  check_not_merged(layers, "activate_adapter");
  if (!name.empty()) layers_with(model, "activate_adapter", name);
  for (const auto& [path, linear] : layers)
    for (const std::string& other : linear->adapter_names()) linear->adapter(other)->active = other == name;
}

void remove_adapter(Module& model, const std::string& name) {
  check_not_merged(named_linears(model), "remove_adapter");
  for (const auto& [path, linear] : layers_with(model, "remove_adapter", name)) linear->remove_adapter(name);
}

void merge_adapters(Module& model) {
  const Linears layers = named_linears(model);
  for (const auto& [table_path, module] : model.named_modules())
    if (const auto* const table = dynamic_cast<const Embedding*>(module))
      for (const auto& [path, linear] : layers)
        if (linear->weight.is(table->weight) && !linear->adapter_names().empty())
          raise(ErrorKind::config, "merge_adapters: the weight of {} is tied to the table of {}", path, table_path);
  for (const auto& [path, linear] : layers) linear->merge_adapters();
}

void unmerge_adapters(Module& model) {
  for (const auto& [path, linear] : named_linears(model)) linear->unmerge_adapters();
}

void train_adapters_only(Module& model) {
  model.freeze();
  for (const auto& [path, linear] : named_linears(model))
    for (const std::string& name : linear->adapter_names())
      if (Lora& adapter = *linear->adapter(name); adapter.active) adapter.unfreeze();
}

std::vector<std::pair<std::string, Lora*>> adapters_of(Module& model, const std::string& name) {
  std::vector<std::pair<std::string, Lora*>> adapters;
  for (const auto& [path, linear] : layers_with(model, "adapters_of", name))
    adapters.emplace_back(path, linear->adapter(name));
  return adapters;
}

StateDict adapter_state(Module& model, const std::string& name) {
  StateDict state;
  for (const auto& [path, adapter] : adapters_of(model, name))
    for (const auto& [parameter, value] : adapter->state_dict())
      state.emplace(fmt::format("{}.{}.{}", path, adapter->name(), parameter), value);
  return state;
}

}  // namespace tape::nn
