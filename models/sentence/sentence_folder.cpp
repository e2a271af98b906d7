// Folders of sentence-transformers.

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "models/adapters/adapter_folder.h"
#include "models/encoders/encoder_folder.h"
#include "models/folders/weights.h"
#include "models/sentence/sentence_encoder.h"
#include "models/sentence/sentence_parts.h"

namespace tape::models {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kModules = "sentence_transformers.models.";

void write_json(const std::string& folder, const char* name, const Json& json) {
  write_in_folder(folder, name, fmt::format("{}\n", json.dump(2)));
}

/// The encoder of a model without a head, or of a masked language model, with its configuration.
const EncoderModel& take_encoder(const AnyModel& model, const std::string& folder, EncoderConfig& config) {
  return std::visit(
      [&]<class M>(const std::unique_ptr<M>& held) -> const EncoderModel& {
        if constexpr (std::same_as<M, EncoderModel>) {
          config = config_of(*held);
          return *held;
        } else if constexpr (std::same_as<M, MaskedLanguageModel>) {
          config = held->config();
          return *held->base;
        } else {
          raise(ErrorKind::config, "{}/config.json: contains a {}, but sentence embeddings require an encoder", folder,
                held->type_name());
        }
      },
      model);
}

const char* type_of(SentenceModuleKind kind) {
  constexpr const char* names[] = {"Dense", "LayerNorm", "Dropout", "Normalize"};
  return names[static_cast<size_t>(kind)];
}

/// torch.nn's class for an activation.
std::string torch_name(const std::optional<nn::ActivationKind>& kind) {
  if (!kind) return "torch.nn.modules.linear.Identity";
  for (const auto& [name, known] : torch_activations())
    if (known == *kind) return fmt::format("torch.nn.modules.activation.{}", name);
  raise(ErrorKind::config, "SentenceModule: sentence-transformers cannot load the activation {}", nn::to_string(*kind));
}

/// config.json of a module after the pooling; null if it has none.
Json json_of(const SentenceModuleOptions& o) {
  if (o.kind == SentenceModuleKind::layer_norm) return {{"dimension", o.in}};
  if (o.kind == SentenceModuleKind::dropout) return {{"dropout", o.rate}};
  if (o.kind == SentenceModuleKind::normalize) return {};
  Json json{{"in_features", o.in},
            {"out_features", o.out},
            {"bias", o.bias},
            {"activation_function", torch_name(o.activation)}};
  if (o.residual) json["use_residual"] = true;  // a key that older versions do not know
  return json;
}

/// Uses the keys that every version reads where these suffice.
Json pooling_json(const SentenceEncoderConfig& c, int64_t width) {
  Json json{{"word_embedding_dimension", width}};
  std::vector<SentencePooling> in_order;
  for (const SentencePooling mode : sentence_poolings()) {
    const bool wanted = std::ranges::find(c.pooling, mode) != c.pooling.end();
    json[pooling_key(mode)] = wanted;
    if (wanted) in_order.push_back(mode);
  }
  json["include_prompt"] = c.include_prompt;
  if (in_order == c.pooling) return json;
  for (const SentencePooling mode : sentence_poolings()) json.erase(pooling_key(mode));
  Json modes = Json::array();
  for (const SentencePooling mode : c.pooling) modes.push_back(to_string(mode));
  json["pooling_mode"] = modes;
  return json;
}

}  // namespace

std::unique_ptr<SentenceEncoder> load_sentence_encoder(const std::string& folder, const std::string& below) {
  SentenceParts parts = read_sentence_parts(folder);
  const std::string& encoder = parts.encoder;
  const AnyModel model = is_adapter_folder(encoder) ? load_with_adapter(encoder, below) : load_model(encoder);
  nn::merge_adapters(module_of(model));
  const EncoderModel& base = take_encoder(model, encoder, parts.config.encoder);
  auto found = std::make_unique<SentenceEncoder>(parts.config);
  found->to(base.parameters().front().dtype());
  nn::StateDict values = base.state_dict();
  std::erase_if(values, [](const auto& named) {
    return named.first.starts_with("pooler.") || named.first.find(".lora.") != std::string::npos;
  });
  found->base->load_state_dict(values);
  nn::StateDict all = found->state_dict();
  for (const auto& [name, value] : parts.values) all.at(name) = value.to(base.parameters().front().dtype());
  found->load_state_dict(all);
  found->eval();
  return found;
}

void save_encoder(const std::string& folder, const SentenceEncoder& model) {
  namespace hf = hugging_face;
  check_merged(model, folder);
  const EncoderConfig encoder = with_pooler(model.config().encoder, false);
  make_folder(folder);
  write_weights(folder, hf::encoder_layout(encoder).to_file(model.base->state_dict()), SaveOptions().max_shard_bytes);
  write_json(folder, "config.json",
             hf::encoder_json(encoder, hf::EncoderHead::none, model.base->parameters().front().dtype()));
}

void save(const std::string& folder, const SentenceEncoder& model, const SentenceFolderOptions& options) {
  save_encoder(folder, model);
  save_sentence_modules(folder, model, options);
}

void save_sentence_modules(const std::string& folder, const SentenceEncoder& model,
                           const SentenceFolderOptions& options) {
  const SentenceEncoderConfig& c = model.config();
  Json modules = Json::array();
  const auto module = [&](const char* type, bool own_folder) {
    const auto place = modules.size();
    const std::string path = own_folder ? fmt::format("{}_{}", place, type) : "";
    modules.push_back({{"idx", place},
                       {"name", fmt::format("{}", place)},
                       {"path", path},
                       {"type", fmt::format("{}{}", kModules, type)}});
    const std::string where = fmt::format("{}/{}", folder, path);
    if (own_folder) make_folder(where);
    return where;
  };
  module("Transformer", false);
  write_json(module("Pooling", true), "config.json", pooling_json(c, model.base->width()));
  for (int64_t i = 0; i < model.modules.size(); ++i) {
    const SentenceModule& own = *model.modules[i];
    const std::string where = module(type_of(own.options().kind), true);
    const Json config = json_of(own.options());
    if (!config.empty()) write_json(where, "config.json", config);
    if (const nn::StateDict values = own.state_dict(); !values.empty())
      write_weights(where, values, SaveOptions().max_shard_bytes);
  }
  if (c.normalize) module("Normalize", true);
  write_json(folder, "modules.json", modules);
  const int64_t most = options.max_tokens.value_or(c.text.max_tokens.value_or(model.base->max_length()));
  write_json(folder, "sentence_bert_config.json", {{"max_seq_length", most}, {"do_lower_case", c.text.lowercase}});
  Json prompts = Json::object();
  for (const auto& [name, prompt] : c.text.prompts) prompts[name] = prompt;
  write_json(folder, "config_sentence_transformers.json",
             {{"prompts", prompts},
              {"default_prompt_name", c.text.default_prompt ? Json(*c.text.default_prompt) : Json()},
              {"similarity_fn_name", "cosine"}});
}

}  // namespace tape::models
