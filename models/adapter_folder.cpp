#include "models/adapter_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "models/config_reader.h"
#include "nn/linear.h"

namespace tape::models {
namespace {

constexpr std::string_view kPrefix = "base_model.model.";

std::string config_path(const std::string& folder) { return fmt::format("{}/adapter_config.json", folder); }
std::string weights_path(const std::string& folder) { return fmt::format("{}/adapter_model.safetensors", folder); }

using Linears = std::map<std::string, nn::Linear*>;

Linears linears_of(nn::Module& model) {
  const auto all = nn::named_linears(model);
  return {all.begin(), all.end()};
}

/// The options of the adapters of the name, by the path of their layer. Error (config) as save_adapter.
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

/// Makes the A of layers that a file keeps in one matrix one.
void share_packed(const Linears& linears, const Layout& layout, const std::string& name) {
  for (const std::vector<std::string>& packed : layout.packed_linears()) {
    nn::Lora* const first = linears.at(packed.front())->adapter(name);
    if (!first) continue;
    for (const std::string& path : packed)
      if (nn::Lora* const adapter = linears.at(path)->adapter(name); adapter != first) adapter->A = first->A;
  }
}

void check_packed(const Linears& linears, const Layout& layout, const std::string& name) {
  for (const std::vector<std::string>& packed : layout.packed_linears()) {
    const nn::Lora* const first = linears.at(packed.front())->adapter(name);
    for (const std::string& path : packed) {
      const nn::Lora* const adapter = linears.at(path)->adapter(name);
      if ((first == nullptr) != (adapter == nullptr) || (first && !adapter->A.is(first->A)))
        raise(ErrorKind::config,
              "save_adapter: the folder keeps {} in one matrix, whose adapters must share their A "
              "(models::add_adapter)",
              fmt::join(packed, ", "));
    }
  }
}

/// What peft looks for to find the layers: the ends of their names where these fit no other Linear layer of the model,
/// else the whole names.
std::vector<std::string> target_modules(const Linears& linears, const Layout& layout,
                                        const std::map<std::string, nn::LoraOptions>& adapters) {
  const auto end_of = [](const std::string& name) { return name.substr(name.rfind('.') + 1); };
  std::set<std::string> ends, names;
  for (const auto& [path, options] : adapters) {
    names.insert(layout.their_linear(path));
    ends.insert(end_of(layout.their_linear(path)));
  }
  const bool fits_others = std::ranges::any_of(linears, [&](const auto& linear) {
    return !adapters.contains(linear.first) && ends.contains(end_of(layout.their_linear(linear.first)));
  });
  const std::set<std::string>& chosen = fits_others ? names : ends;
  return {chosen.begin(), chosen.end()};
}

/// The values of parameters that are trained whole, by the file's names.
std::map<std::string, Tensor> trained_whole(nn::Module& model, const Layout& layout) {
  nn::StateDict whole;
  for (const NamedTensor& named : model.named_parameters())
    if (named.tensor.requires_grad() && named.name.find(".lora.") == std::string::npos)
      whole.emplace(named.name, named.tensor);
  return layout.to_file(whole);
}

nlohmann::ordered_json config_json(const Linears& linears, const Layout& layout,
                                   const std::map<std::string, nn::LoraOptions>& adapters,
                                   const std::map<std::string, Tensor>& whole, const AdapterNote& note) {
  const nn::LoraOptions& options = adapters.begin()->second;
  nlohmann::ordered_json ranks = nlohmann::ordered_json::object(), alphas = ranks, saved;
  for (const auto& [path, other] : adapters) {
    if (other.rank != options.rank) ranks[layout.their_linear(path)] = other.rank;
    if (other.alpha != options.alpha) alphas[layout.their_linear(path)] = other.alpha;
  }
  std::set<std::string> modules;
  for (const auto& [name, value] : whole) modules.insert(name.substr(0, name.rfind('.')));
  if (!modules.empty()) saved = modules;
  const bool transposed =
      std::ranges::all_of(adapters, [&](const auto& one) { return layout.keeps_transposed(one.first); });
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
  };
  return {{"peft_type", "LORA"},
          {"task_type", text_or_null(note.task)},
          {"base_model_name_or_path", text_or_null(note.base_model)},
          {"r", options.rank},
          {"lora_alpha", options.alpha},
          {"lora_dropout", options.dropout},
          {"target_modules", target_modules(linears, layout, adapters)},
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

/// The options that adapter_config.json gives each layer.
class AdapterConfig {
 public:
  explicit AdapterConfig(const std::string& folder) : config_(read_text(config_path(folder)), config_path(folder)) {
    if (config_.text("peft_type") != "LORA") config_.wrong("peft_type", "\"LORA\"");
    if (config_.text("bias", "none") != "none") config_.wrong("bias", "\"none\"");
    for (const char* key : {"lora_bias", "use_qalora"}) config_.require_flag(key, false, false);
    for (const char* key : {"layer_replication", "target_parameters", "trainable_token_indices", "megatron_config",
                            "alora_invocation_tokens", "arrow_config"})
      if (config_.has(key)) config_.wrong(key, "null");
    options_ = {.rank = config_.whole("r"),
                .alpha = config_.number("lora_alpha", 8),
                .dropout = config_.number("lora_dropout", 0),
                .rank_stabilized = config_.flag("use_rslora", false),
                .decomposed = config_.flag("use_dora", false)};
  }

  /// Of a layer that peft calls so.
  nn::LoraOptions of(const std::string& their_linear) const {
    nn::LoraOptions options = options_;
    if (const auto rank = pattern("rank_pattern", their_linear)) options.rank = static_cast<int64_t>(*rank);
    options.alpha = pattern("alpha_pattern", their_linear).value_or(options.alpha);
    return options;
  }

  std::string base_model() const { return config_.text("base_model_name_or_path", ""); }

 private:
  /// The value of the first key that is the layer's name or its end.
  std::optional<double> pattern(const char* key, const std::string& their_linear) const {
    if (!config_.has(key)) return {};
    const ConfigReader patterns = config_.object(key);
    for (const auto& [name, value] : patterns.json().items()) {
      if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") != name.npos)
        patterns.wrong(name.c_str(), "a module's name or its end; other patterns are not read");
      if (their_linear == name || their_linear.ends_with(fmt::format(".{}", name)))
        return patterns.number(name.c_str());
    }
    return {};
  }

  ConfigReader config_;
  nn::LoraOptions options_;
};

/// What adapter_model.safetensors holds.
struct AdapterFile {
  std::map<std::string, nn::LoraOptions> adapters;  // by our layers' paths
  std::map<std::string, Tensor> low_rank, whole;    // the latter by the model's names
};

AdapterFile read_adapter(const std::string& folder, const Layout& layout) {
  const AdapterConfig config(folder);
  const std::string where = weights_path(folder);
  AdapterFile file;
  for (const auto& [name, tensor] : load_safetensors(where).tensors) {
    if (!name.starts_with(kPrefix))
      raise(ErrorKind::format, "{}: \"{}\" does not begin with \"{}\"", where, name, kPrefix);
    const std::string rest = name.substr(kPrefix.size());
    const size_t at = rest.rfind(".lora_");
    (at == rest.npos ? file.whole[rest] : file.low_rank[name]) =
        is_floating(tensor.dtype()) && tensor.dtype() != f64 ? tensor.to(f32) : tensor;
    if (at == rest.npos || !rest.ends_with(".lora_A.weight")) continue;
    const std::string linear = rest.substr(0, at);
    const std::vector<std::string> ours = layout.linears(linear);
    if (ours.empty()) raise(ErrorKind::format, "{}: \"{}\": the model has no linear layer {}", where, name, linear);
    for (const std::string& path : ours) file.adapters.emplace(path, config.of(linear));
  }
  if (file.adapters.empty()) raise(ErrorKind::format, "{}: holds no adapter", where);
  return file;
}

nn::StateDict values_of(const AdapterFile& file, const std::string& where, const Layout& layout,
                        const std::string& name) {
  nn::StateDict values = layout.adapters(name, shapes_of(file.adapters)).from_file(file.low_rank, where);
  values.merge(layout.only(file.whole).from_file(file.whole, where));
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
                                     const nn::LoraOptions& options, const std::vector<std::string>& targets) {
  std::vector<std::string> paths = nn::add_adapter(model, name, options, targets);
  const Linears linears = linears_of(model);
  for (const std::vector<std::string>& packed : layout.packed_linears()) {
    if (std::ranges::none_of(packed, [&](const std::string& path) { return linears.at(path)->adapter(name); }))
      continue;
    for (const std::string& path : packed) {
      if (linears.at(path)->adapter(name)) continue;
      linears.at(path)->add_adapter(name, options);
      paths.push_back(path);
    }
  }
  share_packed(linears, layout, name);
  return paths;
}

void save_adapter(const std::string& folder, nn::Module& model, const Layout& layout, const std::string& name,
                  const AdapterNote& note) {
  const Linears linears = linears_of(model);
  const std::map<std::string, nn::LoraOptions> adapters = adapted(model, linears, name);
  check_packed(linears, layout, name);
  std::map<std::string, Tensor> tensors =
      layout.adapters(name, shapes_of(adapters)).to_file(nn::adapter_state(model, name));
  const std::map<std::string, Tensor> whole = trained_whole(model, layout);
  for (const auto& [their_name, value] : whole) tensors.emplace(fmt::format("{}{}", kPrefix, their_name), value);
  const std::string config = fmt::format("{}\n", config_json(linears, layout, adapters, whole, note).dump(2));
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) raise(ErrorKind::io, "{}: {}", folder, failed.message());
  save_safetensors(weights_path(folder), tensors, {{"format", "pt"}});
  const std::string_view parts[] = {config};
  write_file(config_path(folder), parts);
}

void save_adapter(const std::string& folder, const AnyModel& model, const std::string& name, const AdapterNote& note) {
  save_adapter(folder, module_of(model), layout_of(model), name, note);
}

void load_adapter(const std::string& folder, nn::Module& model, const Layout& layout, const std::string& name) {
  const AdapterFile file = read_adapter(folder, layout);
  const Linears linears = linears_of(model);
  for (const auto& [path, options] : file.adapters)
    if (linears.at(path)->adapter(name))
      raise(ErrorKind::config, "load_adapter: {} has an adapter \"{}\" already", path, name);
  const nn::StateDict values = values_of(file, weights_path(folder), layout, name);
  for (const auto& [path, options] : file.adapters) linears.at(path)->add_adapter(name, options);
  share_packed(linears, layout, name);
  copy_values(model, values);
  nn::activate_adapter(model, name);
}

void load_adapter(const std::string& folder, const AnyModel& model, const std::string& name) {
  load_adapter(folder, module_of(model), layout_of(model), name);
}

nn::StateDict adapter_values(const std::string& folder, const Layout& layout, const std::string& name) {
  return values_of(read_adapter(folder, layout), weights_path(folder), layout, name);
}

bool is_adapter_folder(const std::string& folder) {
  return std::filesystem::exists(config_path(folder)) &&
         !std::filesystem::exists(fmt::format("{}/config.json", folder));
}

std::string base_model_folder(const std::string& folder) {
  const std::string name = AdapterConfig(folder).base_model();
  for (const std::string& place : {name, fmt::format("{}/{}", folder, name)})
    if (!name.empty() && std::filesystem::exists(fmt::format("{}/config.json", place))) return place;
  raise(ErrorKind::config, "{}: \"base_model_name_or_path\" is \"{}\", which is no folder with a model",
        config_path(folder), name);
}

AnyModel load_with_adapter(const std::string& folder) {
  AnyModel model = load_model(base_model_folder(folder));
  load_adapter(folder, model);
  return model;
}

}  // namespace tape::models
