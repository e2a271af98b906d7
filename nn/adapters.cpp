#include "nn/adapters.h"

#include <algorithm>
#include <set>

#include "base/module_path.h"
#include "nn/embedding.h"
#include "nn/linear.h"

namespace tape::nn {
namespace {

struct NamedLinear {
  std::string path;
  Linear* layer;
};

std::vector<NamedLinear> linears(Module& model) {
  std::vector<NamedLinear> found;
  for (auto& [path, module] : model.named_modules())
    if (auto* const layer = dynamic_cast<Linear*>(module)) found.push_back({path, layer});
  return found;
}

bool is_target(const std::string& path, const std::string& target) {
  return target == "all-linear" || fits_pattern(path, target) || fits_pattern(path, "*." + target);
}

void check_targets(const std::vector<NamedLinear>& layers, const std::vector<std::string>& targets) {
  if (targets.empty()) raise(ErrorKind::config, "add_adapter: no targets");
  for (const std::string& target : targets) {
    if (std::ranges::any_of(layers, [&](const NamedLinear& linear) { return is_target(linear.path, target); }))
      continue;
    std::set<std::string> ends;
    for (const NamedLinear& linear : layers) ends.insert(linear.path.substr(linear.path.rfind('.') + 1));
    raise(ErrorKind::config, "add_adapter: no Linear fits the target \"{}\"; their names end in {}", target,
          fmt::join(ends, ", "));
  }
}

/// Calls see(layer, adapter) for every adapter of the name. Error (config) `who: ...` where there is none.
template <class See>
void for_each_adapter(Module& model, const char* who, const std::string& name, See&& see) {
  bool any = false;
  for (const NamedLinear& linear : linears(model))
    if (Lora* const adapter = linear.layer->adapter(name)) {
      any = true;
      see(linear, *adapter);
    }
  if (any) return;
  const std::vector<std::string> names = adapter_names(model);
  raise(ErrorKind::config, "{}: the model has no adapter \"{}\"{}{}", who, name, names.empty() ? "" : "; it has ",
        fmt::join(names, ", "));
}

void check_not_merged(const std::vector<NamedLinear>& layers, const char* who) {
  for (const NamedLinear& linear : layers)
    if (linear.layer->is_merged())
      raise(ErrorKind::config, "{}: the adapters of {} are merged into its weight", who, linear.path);
}

}  // namespace

std::vector<std::string> add_adapter(Module& model, const std::string& name, const LoraOptions& options,
                                     const std::vector<std::string>& targets) {
  const std::vector<NamedLinear> layers = linears(model);
  check_targets(layers, targets);
  check_not_merged(layers, "add_adapter");
  std::vector<NamedLinear> fitting;
  for (const NamedLinear& linear : layers)
    if (std::ranges::any_of(targets, [&](const std::string& target) { return is_target(linear.path, target); }))
      fitting.push_back(linear);
  // All or none: what can be wrong with one is looked at in all before the first is changed.
  for (const NamedLinear& linear : fitting)
    if (linear.layer->adapter(name))
      raise(ErrorKind::config, "add_adapter: {} has an adapter \"{}\" already", linear.path, name);
  std::vector<std::string> paths;
  for (const NamedLinear& linear : fitting) {
    linear.layer->add_adapter(name, options);
    paths.push_back(linear.path);
  }
  return paths;
}

std::vector<std::string> adapter_names(Module& model) {
  std::vector<std::string> names;
  for (const NamedLinear& linear : linears(model))
    for (std::string& name : linear.layer->adapter_names())
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  return names;
}

void activate_adapter(Module& model, const std::string& name) {
  const std::vector<NamedLinear> layers = linears(model);
  check_not_merged(layers, "activate_adapter");
  if (!name.empty()) for_each_adapter(model, "activate_adapter", name, [](const NamedLinear&, Lora&) {});
  for (const NamedLinear& linear : layers)
    for (const std::string& other : linear.layer->adapter_names()) linear.layer->adapter(other)->active = other == name;
}

void remove_adapter(Module& model, const std::string& name) {
  check_not_merged(linears(model), "remove_adapter");
  for_each_adapter(model, "remove_adapter", name,
                   [&](const NamedLinear& linear, Lora&) { linear.layer->remove_adapter(name); });
}

void merge_adapters(Module& model) {
  const std::vector<NamedLinear> layers = linears(model);
  for (const auto& [path, module] : model.named_modules())
    if (const auto* const table = dynamic_cast<const Embedding*>(module))
      for (const NamedLinear& linear : layers)
        if (linear.layer->weight.is(table->weight) && !linear.layer->adapter_names().empty())
          raise(ErrorKind::config, "merge_adapters: the weight of {} is the table of {}", linear.path, path);
  for (const NamedLinear& linear : layers) linear.layer->merge_adapters();
}

void unmerge_adapters(Module& model) {
  for (const NamedLinear& linear : linears(model)) linear.layer->unmerge_adapters();
}

void train_adapters_only(Module& model) {
  model.freeze();
  for (const NamedLinear& linear : linears(model))
    for (const std::string& name : linear.layer->adapter_names())
      if (Lora& adapter = *linear.layer->adapter(name); adapter.active) adapter.unfreeze();
}

StateDict adapter_state(Module& model, const std::string& name) {
  StateDict state;
  for_each_adapter(model, "adapter_state", name, [&](const NamedLinear& linear, Lora& adapter) {
    for (const auto& [parameter, value] : adapter.state_dict())
      state.emplace(fmt::format("{}.lora.{}.{}", linear.path, name, parameter), value);
  });
  return state;
}

}  // namespace tape::nn
