#include "models/adapters/adapter_folder.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "base/module_path.h"
#include "models/adapters/initialization.h"
#include "nn/linear.h"

namespace tape::models {
namespace {

using Linears = std::map<std::string, nn::Linear*>;

Linears linears_of(nn::Module& model) {
  const auto all = nn::named_linears(model);
  return {all.begin(), all.end()};
}

/// Options of the adapters called `name`, by layer path. Throws Error (config) if adapters are merged.
std::map<std::string, nn::LoraOptions> adapted(nn::Module& model, const Linears& linears, const std::string& name) {
  std::map<std::string, nn::LoraOptions> found;
  for (const auto& [path, adapter] : nn::adapters_of(model, name)) found.emplace(path, adapter->options());
  for (const auto& [path, layer] : linears)
    if (layer->is_merged()) raise(ErrorKind::config, "save_adapter: the adapters of {} are merged", path);
  return found;
}

std::map<std::string, Layout::Adapter> shapes_of(const std::map<std::string, nn::LoraOptions>& adapters) {
  std::map<std::string, Layout::Adapter> shapes;
  for (const auto& [path, options] : adapters) shapes[path] = {options.rank, options.decomposed};
  return shapes;
}

/// Makes layers that the file packs into one matrix share their A.
void share_packed(const Linears& linears, const Layout& layout, const std::string& name) {
  for (const std::vector<std::string>& packed : layout.packed_linears()) {
    nn::Lora* const first = linears.at(packed.front())->adapter(name);
    if (!first) continue;
    for (const std::string& path : packed)
      if (nn::Lora* const adapter = linears.at(path)->adapter(name); adapter != first) adapter->A.tie(first->A);
  }
}

void check_packed(const Linears& linears, const Layout& layout, const std::string& name) {
  for (const std::vector<std::string>& packed : layout.packed_linears()) {
    const nn::Lora* const first = linears.at(packed.front())->adapter(name);
    for (const std::string& path : packed) {
      const nn::Lora* const adapter = linears.at(path)->adapter(name);
      if ((first == nullptr) != (adapter == nullptr) || (first && !adapter->A.is(first->A)))
        raise(ErrorKind::config,
              "save_adapter: the folder stores {} in one matrix, so their adapters must share A "
              "(models::add_adapter)",
              fmt::to_string(fmt::join(packed, ", ")));
    }
  }
}

/// Names by which peft finds the layers: their last components, or the full names if a last component also matches a
/// Linear layer without an adapter.
std::vector<std::string> target_modules(const Layout& layout, const std::map<std::string, nn::LoraOptions>& adapters) {
  const auto end_of = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  std::set<std::string> ends, names;
  for (const auto& [path, options] : adapters) {
    names.insert(layout.file_linear_name(path));
    ends.insert(end_of(layout.file_linear_name(path)));
  }
  // Look at the names in the file, not at the model's layers: a layer tied to a table has no entry there, and a pooler
  // that our model lacks has one.
  const bool fits_others = std::ranges::any_of(layout.file_tensor_names(), [&](const std::string& name) {
    const std::string layer = name.substr(0, name.rfind('.'));
    return ends.contains(end_of(layer)) && std::ranges::any_of(layout.linears(layer), [&](const std::string& path) {
             return !adapters.contains(path);
           });
  });
  const std::set<std::string>& chosen = fits_others ? names : ends;
  return {chosen.begin(), chosen.end()};
}

/// Values of fully trained parameters, by the file's names. Throws Error (config) if one belongs to a layer with
/// adapters, which peft cannot store.
std::map<std::string, Tensor> fully_trained(nn::Module& model, const Layout& layout,
                                            const std::map<std::string, nn::LoraOptions>& adapters) {
  nn::StateDict whole;
  for (const NamedTensor& named : model.named_parameters()) {
    if (!named.tensor.requires_grad() || named.name.find(".lora.") != std::string::npos) continue;
    if (adapters.contains(named.name.substr(0, named.name.rfind('.'))))
      raise(ErrorKind::config,
            "save_adapter: {} and its layer's adapter are both trainable; a peft folder can store only one of them "
            "(nn::train_adapters_only)",
            named.name);
    whole.emplace(named.name, named.tensor);
  }
  std::map<std::string, Tensor> tensors = layout.to_file(whole);
  // peft would load the old values under the other name of a tied tensor.
  for (const auto& [copy, of] : layout.copies())
    if (const auto found = tensors.find(of); found != tensors.end()) tensors.emplace(copy, found->second);
  return tensors;
}

/// The outermost modules of the file whose parameters are all trained: "classifier" rather than classifier.dense and
/// classifier.out_proj. peft saves only complete modules, and none nested in another.
std::set<std::string> whole_modules(const Layout& layout, const std::map<std::string, Tensor>& whole) {
  const std::vector<std::string> all = layout.file_tensor_names();
  const auto is_whole = [&](const std::string& module) {
    return std::ranges::all_of(
        all, [&](const std::string& name) { return !is_in_module(name, module) || whole.contains(name); });
  };
  std::set<std::string> modules;
  for (const auto& [name, value] : whole) {
    size_t dot = name.find('.');
    while (dot != name.rfind('.') && !is_whole(name.substr(0, dot))) dot = name.find('.', dot + 1);
    modules.insert(name.substr(0, dot));
  }
  return modules;
}

nlohmann::ordered_json config_json(const Layout& layout, const std::map<std::string, nn::LoraOptions>& adapters,
                                   const std::map<std::string, Tensor>& whole, const AdapterMetadata& note) {
  const nn::LoraOptions& options = adapters.begin()->second;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::object(), alphas = ranks, saved;
  for (const auto& [path, other] : adapters) {
    if (other.rank != options.rank) ranks[layout.file_linear_name(path)] = other.rank;
    if (other.alpha != options.alpha) alphas[layout.file_linear_name(path)] = other.alpha;
  }
  if (!whole.empty()) saved = whole_modules(layout, whole);
  const bool transposed =
      std::ranges::all_of(adapters, [&](const auto& one) { return layout.stores_transposed(one.first); });
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  return {{"peft_type", "LORA"},
          {"task_type", text_or_null(note.task)},
          {"base_model_name_or_path", text_or_null(note.base_model)},
          {"r", options.rank},
          {"lora_alpha", options.alpha},
          {"lora_dropout", options.dropout},
          {"target_modules", target_modules(layout, adapters)},
          {"modules_to_save", saved},
          {"rank_pattern", ranks},
          {"alpha_pattern", alphas},
          {"use_rslora", options.rank_stabilized},
          {"use_dora", options.decomposed},
          {"fan_in_fan_out", transposed},
          {"bias", "none"},
          {"init_lora_weights", true},
          {"inference_mode", true}};
}

/// Checks that saved modules are complete. peft would keep the old value of a tied tensor that is missing.
void check_whole(const AdapterConfig& config, const std::map<std::string, Tensor>& whole, const Layout& layout,
                 const std::string& where) {
  const std::vector<std::string> all = layout.file_tensor_names();
  for (const std::string& module : config.saved_modules())
    for (const std::string& name : all)
      if (fmt::format(".{}", name).find(fmt::format(".{}.", module)) != std::string::npos && !whole.contains(name))
        raise(ErrorKind::format, "{}: \"{}{}\" of modules_to_save is missing", where, kAdapterPrefix, name);
  for (const auto& [copy, of] : layout.copies())
    if (whole.contains(copy) != whole.contains(of))
      raise(ErrorKind::config,
            "{}: has \"{}\" but not \"{}\", which are one tied tensor of the model: peft would untie them", where,
            whole.contains(of) ? of : copy, whole.contains(of) ? copy : of);
}

/// The layout with the names of an adapter file: those of the modules in memory, or those of the base model's file,
/// which are the names in memory of older versions of transformers.
Layout peft_layout(const Layout& layout, const AdapterTensors& tensors) {
  const Layout now = layout.in_memory();
  const auto is_older = [&](const std::string& module) {
    return now.linears(module).empty() && !layout.linears(module).empty();
  };
  for (const auto& [name, tensor] : tensors.low_rank)
    if (is_older(name.substr(kAdapterPrefix.size(), name.rfind(".lora_") - kAdapterPrefix.size()))) return layout;
  for (const auto& [name, tensor] : tensors.whole)
    if (is_older(name.substr(0, name.rfind('.')))) return layout;
  return now;
}

/// Reads adapters for `model`. If it is null, throws Error (config) for adapters that change the base model.
AdapterFile read_adapter(const std::string& folder, const Layout& base_layout, const nn::Module* model) {
  const AdapterConfig config(folder);
  const std::string where = adapter_weights_path(folder);
  constexpr std::string_view kEnd = ".lora_A.weight";
  AdapterFile file{.adapters = {}, .tensors = read_adapter_tensors(folder)};
  file.layout = peft_layout(base_layout, file.tensors);
  const Layout& layout = file.layout;
  for (const auto& [name, tensor] : file.tensors.low_rank) {
    if (!name.ends_with(kEnd)) continue;
    const std::string linear = name.substr(kAdapterPrefix.size(), name.size() - kAdapterPrefix.size() - kEnd.size());
    const std::vector<std::string> ours = layout.linears(linear);
    if (ours.empty()) raise(ErrorKind::format, "{}: \"{}\": the model has no linear layer {}", where, name, linear);
    for (const std::string& path : ours) file.adapters.emplace(path, config.of(linear));
  }
  if (file.adapters.empty()) raise(ErrorKind::format, "{}: contains no adapter", where);
  check_whole(config, file.tensors.whole, layout, where);
  if (config.base_change() == BaseChange::none) return file;
  if (!model) raise(ErrorKind::config, "{}: its adapters change the base model", adapter_config_path(folder));
  layout.adapters("", shapes_of(file.adapters)).from_file(file.tensors.low_rank, where);  // checks their shapes
  undo_base_change(file, config.base_change(), model->state_dict(), layout, where);
  return file;
}

nn::StateDict values_of(const AdapterFile& file, const std::string& where, const std::string& name) {
  const Layout& layout = file.layout;
  nn::StateDict values = layout.adapters(name, shapes_of(file.adapters)).from_file(file.tensors.low_rank, where);
  values.merge(layout.only(file.tensors.whole).from_file(file.tensors.whole, where));
  return values;
}

void copy_values(nn::Module& model, const nn::StateDict& values) {
  const NoGrad no_grad;
  nn::StateDict state = model.state_dict();
  for (const auto& [name, value] : values)
    if (const auto own = state.find(name); own != state.end()) own->second.copy_(value);
}

}  // namespace

std::vector<std::string> add_adapter(nn::Module& model, const Layout& layout, const std::string& name,
                                     const nn::LoraOptions& options, const std::vector<std::string>& targets,
                                     const std::vector<std::string>& except) {
  std::vector<std::string> paths = nn::find_adapter_targets(model, targets, except);
  for (const std::vector<std::string>& packed : layout.packed_linears()) {
    const auto is_chosen = [&](const std::string& path) { return std::ranges::find(paths, path) != paths.end(); };
    if (std::ranges::none_of(packed, is_chosen)) continue;
    std::ranges::copy_if(packed, std::back_inserter(paths), std::not_fn(is_chosen));
  }
  std::vector<std::pair<std::string, nn::LoraOptions>> layers;
  layers.reserve(paths.size());
  for (const std::string& path : paths) layers.emplace_back(path, options);
  nn::add_adapters(model, name, layers);
  share_packed(linears_of(model), layout, name);
  return paths;
}

void save_adapter(const std::string& folder, nn::Module& model, const Layout& base_layout, const std::string& name,
                  const AdapterMetadata& note) {
  const Layout layout = base_layout.in_memory();
  const Linears linears = linears_of(model);
  const std::map<std::string, nn::LoraOptions> adapters = adapted(model, linears, name);
  check_packed(linears, layout, name);
  std::map<std::string, Tensor> tensors =
      layout.adapters(name, shapes_of(adapters)).to_file(nn::adapter_state(model, name));
  const std::map<std::string, Tensor> whole = fully_trained(model, layout, adapters);
  for (const auto& [their_name, value] : whole) tensors.emplace(fmt::format("{}{}", kAdapterPrefix, their_name), value);
  const std::string config = fmt::format("{}\n", config_json(layout, adapters, whole, note).dump(2));
  make_folder(folder);
  save_safetensors(adapter_weights_path(folder), tensors, {{"format", "pt"}});
  if (!note.config.empty()) write_in_folder(folder, "config.json", note.config);
  write_in_folder(folder, "adapter_config.json", config);
}

void save_adapter(const std::string& folder, const AnyModel& model, const std::string& name,
                  const AdapterMetadata& note) {
  save_adapter(folder, module_of(model), layout_of(model), name, note);
}

void check_merged(const nn::Module& model, const std::string& folder) {
  for (const auto& [path, child] : model.named_children()) {
    if (auto* const linear = dynamic_cast<nn::Linear*>(child); linear && !linear->is_merged())
      for (const std::string& name : linear->adapter_names())
        if (linear->adapter(name)->active)
          raise(ErrorKind::config,
                "{}: the adapter \"{}\" is not merged, and save() writes no adapters; use nn::merge_adapters or "
                "models::save_adapter",
                folder, name);
    check_merged(*child, folder);
  }
}

void load_adapter(const std::string& folder, nn::Module& model, const Layout& layout, const std::string& name) {
  const AdapterFile file = read_adapter(folder, layout, &model);
  const Linears linears = linears_of(model);
  for (const auto& [path, options] : file.adapters)
    if (!linears.contains(path))
      raise(ErrorKind::config,
            "{}: {} has an adapter, which is supported for linear layers but not for the output layer",
            adapter_weights_path(folder), file.layout.file_linear_name(path));
  const nn::StateDict values = values_of(file, adapter_weights_path(folder), name);
  nn::add_adapters(model, name, {file.adapters.begin(), file.adapters.end()});
  share_packed(linears, layout, name);
  copy_values(model, values);
  nn::activate_adapter(model, name);
}

void load_adapter(const std::string& folder, const AnyModel& model, const std::string& name) {
  load_adapter(folder, module_of(model), layout_of(model), name);
}

nn::StateDict adapter_values(const std::string& folder, const Layout& layout, const std::string& name) {
  return values_of(read_adapter(folder, layout, nullptr), adapter_weights_path(folder), name);
}

}  // namespace tape::models
