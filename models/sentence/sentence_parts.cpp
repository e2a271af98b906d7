#include "models/sentence/sentence_parts.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/io/safetensors.h"
#include "base/file.h"
#include "base/path.h"
#include "models/folders/config_reader.h"
#include "text/json.h"

namespace tape::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kOurs = "sentence_transformers.";

/// An entry of modules.json.
struct ListedModule {
  std::string type;  ///< "Pooling"
  std::string path;  ///< its folder, relative to the list
};

/// Path of "1_Pooling/config.json" and so on in the folder.
std::string file_of(const std::string& folder, const std::string& path, const char* name) {
  return file_in_folder(folder, path.empty() ? std::string(name) : join_path(path, name));
}

std::string text_of(const Json& module, const char* key, const std::string& file) {
  if (!module.is_object() || !module.contains(key) || !module.at(key).is_string())
    raise(ErrorKind::format, "{}: a module has no \"{}\"", file, key);
  return module.at(key).get<std::string>();
}

/// The class that a module's type names. Modules of other packages may compute anything.
std::string class_of_module(const std::string& type, const std::string& file) {
  if (!type.starts_with(kOurs)) raise(ErrorKind::config, "{}: the module \"{}\" is not supported", file, type);
  return type.substr(type.rfind('.') + 1);
}

std::vector<ListedModule> read_modules(const std::string& file) {
  const Json json = parse_json(fmt::format("{{\"modules\": {}}}", read_text(file)), file);
  const Json& modules = json.at("modules");
  if (!modules.is_array()) raise(ErrorKind::format, "{}: not a list of modules", file);
  std::vector<ListedModule> listed;
  for (const Json& module : modules) {
    const std::string type = text_of(module, "type", file), path = text_of(module, "path", file);
    if (path.starts_with('/') || path.find("..") != std::string::npos)
      raise(ErrorKind::format, "{}: the path \"{}\" leaves the folder", file, path);
    listed.push_back({class_of_module(type, file), path});
    const size_t place = listed.size() - 1;
    const std::string& name = listed.back().type;
    const char* const needed = place == 0 ? "Transformer" : place == 1 ? "Pooling" : nullptr;
    const bool known =
        needed ? name == needed : name == "Dense" || name == "LayerNorm" || name == "Dropout" || name == "Normalize";
    if (!known)
      raise(ErrorKind::config, "{}: the module \"{}\" is not supported{}", file, type,
            needed ? fmt::format(" as module {}, which must be a {}", place, needed) : "");
  }
  if (listed.size() < 2) raise(ErrorKind::config, "{}: requires a Transformer and a Pooling", file);
  return listed;
}

SentencePooling pooling_named(const ConfigReader& config, const Json& value) {
  for (const SentencePooling mode : sentence_poolings())
    if (value.is_string() && value.get<std::string>() == to_string(mode)) return mode;
  std::string names;
  for (const SentencePooling mode : sentence_poolings())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(mode));
  config.wrong("pooling_mode", fmt::format("one or several of {}", names));
}

/// The new key lists modes in order, the old ones enable each mode. (As in sentence-transformers, the new one wins, and
/// without any of them the mean is used.)
std::vector<SentencePooling> pooling_modes(const ConfigReader& config) {
  std::vector<SentencePooling> modes;
  if (config.has("pooling_mode")) {
    const Json& given = config.json().at("pooling_mode");
    for (const Json& value : given.is_array() ? given : Json::array({given}))
      modes.push_back(pooling_named(config, value));
    if (modes.empty()) pooling_named(config, Json());
    return modes;
  }
  for (const SentencePooling mode : sentence_poolings())
    if (config.flag(pooling_key(mode), false)) modes.push_back(mode);
  return modes.empty() ? std::vector{SentencePooling::mean} : modes;
}

/// Requires that a module reads and writes the vector of the text.
void require_vector(const ConfigReader& config) {
  constexpr const char* kVector = "sentence_embedding";
  for (const char* key : {"module_input_name", "module_output_name"})
    if (config.text(key, kVector) != kVector) config.wrong(key, fmt::format("\"{}\"", kVector));
}

/// A size that is at least 1.
int64_t size_of(const ConfigReader& config, const char* key) {
  const int64_t size = config.whole(key);
  if (size < 1) config.wrong(key, "at least 1");
  return size;
}

std::optional<nn::ActivationKind> activation_of(const ConfigReader& config) {
  const std::string type = config.text("activation_function", "torch.nn.modules.activation.Tanh");
  const std::string name = type.starts_with("torch.nn.") ? type.substr(type.rfind('.') + 1) : "";
  if (name == "Identity") return std::nullopt;
  for (const auto& [known, kind] : torch_activations())
    if (name == known) return kind;
  config.wrong("activation_function", "torch.nn's Identity, Tanh, ReLU, GELU, SiLU or Sigmoid");
}

/// Names and shapes of a module's parameters.
std::vector<std::pair<std::string, Shape>> parameters_of(const SentenceModuleOptions& o) {
  std::vector<std::pair<std::string, Shape>> found;
  if (o.kind == SentenceModuleKind::dense) {
    found.emplace_back("linear.weight", Shape{o.out, o.in});
    if (o.bias) found.emplace_back("linear.bias", Shape{o.out});
    if (o.residual && o.in != o.out) found.emplace_back("residual.weight", Shape{o.out, o.in});
  } else if (o.kind == SentenceModuleKind::layer_norm) {
    for (const char* name : {"norm.weight", "norm.bias"}) found.emplace_back(name, Shape{o.in});
  }
  return found;
}

/// Checks the file before a module is made.
void read_values(const std::string& file, const SentenceModuleOptions& options, size_t place, nn::StateDict& values) {
  const auto tensors = load_safetensors(file).tensors;
  const auto parameters = parameters_of(options);
  for (const auto& [name, shape] : parameters) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) raise(ErrorKind::format, "{}: the tensor \"{}\" is missing", file, name);
    if (!(found->second.shape() == shape))
      raise(ErrorKind::format, "{}: tensor \"{}\" is {}, but the module requires {}", file, name,
            to_string(found->second.shape()), to_string(shape));
    values[fmt::format("modules.{}.{}", place, name)] = found->second;
  }
  for (const auto& [name, tensor] : tensors)
    if (std::ranges::none_of(parameters, [&wanted = name](const auto& known) { return known.first == wanted; }))
      raise(ErrorKind::format, "{}: the module has no tensor \"{}\"", file, name);
}

SentenceModuleOptions read_module(const std::string& folder, const ListedModule& listed) {
  const std::string file = file_of(folder, listed.path, "config.json");
  if (listed.type == "Normalize") {
    if (path_exists(file)) require_vector(ConfigReader(read_text(file), file));
    return {.kind = SentenceModuleKind::normalize};
  }
  const ConfigReader config(read_text(file), file);
  require_vector(config);
  SentenceModuleOptions o;
  if (listed.type == "Dropout") {
    o.kind = SentenceModuleKind::dropout;
    o.rate = config.number("dropout", 0.2);
  } else if (listed.type == "LayerNorm") {
    o.kind = SentenceModuleKind::layer_norm;
    o.in = o.out = size_of(config, "dimension");
  } else {
    o.kind = SentenceModuleKind::dense;
    o.in = size_of(config, "in_features");
    o.out = size_of(config, "out_features");
    o.bias = config.flag("bias", true);
    o.activation = activation_of(config);
    o.residual = config.flag("use_residual", false);
  }
  return o;
}

/// The modules after the pooling; a final Normalize becomes the model's `normalize`.
void read_rest(const std::string& folder, std::span<const ListedModule> rest, SentenceParts& parts) {
  SentenceEncoderConfig& c = parts.config;
  c.normalize = !rest.empty() && rest.back().type == "Normalize";
  if (c.normalize) rest = rest.first(rest.size() - 1);
  for (size_t place = 0; place < rest.size(); ++place) {
    c.modules.push_back(read_module(folder, rest[place]));
    if (!parameters_of(c.modules.back()).empty())
      read_values(file_of(folder, rest[place].path, "model.safetensors"), c.modules.back(), place, parts.values);
  }
}

/// Settings that sentence-transformers stores for its Transformer module, in addition to the model's config.json.
void read_transformer(const std::string& folder, const std::string& path, SentenceTextOptions& to) {
  for (const char* kind : {"bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"}) {
    const std::string file = file_of(folder, path, fmt::format("sentence_{}_config.json", kind).c_str());
    if (!path_exists(file)) continue;
    const ConfigReader config(read_text(file), file);
    if (config.has("max_seq_length")) to.max_tokens = size_of(config, "max_seq_length");
    to.lowercase = config.flag("do_lower_case", false);
    for (const auto& [key, value] :
         {std::pair{"transformer_task", "feature-extraction"}, std::pair{"module_output_name", "token_embeddings"}})
      if (config.text(key, value) != value) config.wrong(key, fmt::format("\"{}\"", value));
    if (!config.has("modality_config")) return;
    const ConfigReader modalities = config.object("modality_config");
    if (!modalities.has("text")) modalities.wrong("text", "given");
    const ConfigReader text = modalities.object("text");
    for (const auto& [key, value] :
         {std::pair{"method", "forward"}, std::pair{"method_output_name", "last_hidden_state"}})
      if (text.text(key, value) != value) text.wrong(key, fmt::format("\"{}\"", value));
    return;
  }
}

/// If nothing else limits the length of texts, the tokenizer may.
void read_tokenizer_limit(const std::string& folder, const std::string& path, SentenceTextOptions& to) {
  const std::string file = file_of(folder, path, "tokenizer_config.json");
  if (to.max_tokens || !path_exists(file)) return;
  const ConfigReader config(read_text(file), file);
  if (!config.has("model_max_length")) return;
  const double most = config.number("model_max_length");
  if (most >= 1 && most < 1e9) to.max_tokens = static_cast<int64_t>(most);
}

void read_prompts(const std::string& folder, SentenceTextOptions& to) {
  const std::string file = file_in_folder(folder, "config_sentence_transformers.json");
  if (!path_exists(file)) return;
  const ConfigReader config(read_text(file), file);
  constexpr const char* kModel = "SentenceTransformer";
  if (config.text("model_type", kModel) != kModel) config.wrong("model_type", fmt::format("\"{}\"", kModel));
  if (config.has("prompts")) {
    const ConfigReader prompts = config.object("prompts");
    for (const auto& [name, prompt] : prompts.json().items()) to.prompts[name] = prompts.text(name.c_str(), "");
  }
  if (!config.has("default_prompt_name")) return;
  to.default_prompt = config.text("default_prompt_name");
  if (!to.prompts.contains(*to.default_prompt)) config.wrong("default_prompt_name", "one of \"prompts\"");
}

}  // namespace

std::span<const std::pair<const char*, nn::ActivationKind>> torch_activations() {
  using enum nn::ActivationKind;
  static constexpr std::array<std::pair<const char*, nn::ActivationKind>, 5> all{
      {{"Tanh", tanh}, {"ReLU", relu}, {"GELU", gelu}, {"SiLU", silu}, {"Sigmoid", sigmoid}}};
  return all;
}

const char* pooling_key(SentencePooling mode) {
  constexpr const char* keys[] = {"pooling_mode_cls_token",           "pooling_mode_max_tokens",
                                  "pooling_mode_mean_tokens",         "pooling_mode_mean_sqrt_len_tokens",
                                  "pooling_mode_weightedmean_tokens", "pooling_mode_lasttoken"};
  return keys[static_cast<size_t>(mode)];
}

SentenceParts read_sentence_parts(const std::string& folder) {
  SentenceParts parts;
  parts.encoder = folder;
  parts.config.normalize = false;
  const std::string list = file_in_folder(folder, "modules.json");
  std::string path = {}, pooling = "1_Pooling";
  std::vector<ListedModule> modules;
  if (path_exists(list)) {
    modules = read_modules(list);
    path = modules[0].path, pooling = modules[1].path;
    if (!path.empty()) parts.encoder = join_path(folder, path);
    read_rest(folder, std::span(modules).subspan(2), parts);
  }
  const std::string file = file_of(folder, pooling, "config.json");
  parts.pooling_given = !modules.empty() || path_exists(file);
  if (parts.pooling_given) {
    const ConfigReader config(read_text(file), file);
    parts.config.pooling = pooling_modes(config);
    parts.config.include_prompt = config.flag("include_prompt", true);
  }
  read_transformer(folder, path, parts.config.text);
  read_tokenizer_limit(folder, path, parts.config.text);
  read_prompts(folder, parts.config.text);
  return parts;
}

std::optional<std::vector<SentencePooling>> read_pooling(const std::string& folder) {
  const SentenceParts parts = read_sentence_parts(folder);
  if (!parts.pooling_given) return std::nullopt;
  return parts.config.pooling;
}

}  // namespace tape::models
