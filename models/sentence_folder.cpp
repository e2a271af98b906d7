// Folders of sentence-transformers.

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "models/adapter_folder.h"
#include "models/encoder_folder.h"
#include "models/sentence_encoder.h"
#include "models/weights.h"

namespace tape::models {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kModules = "sentence_transformers.models.";

void write_json(const std::string& file, const Json& json) {
  const std::string text = fmt::format("{}\n", json.dump(2));
  const std::string_view parts[] = {text};
  write_file(file, parts);
}

/// Whether the last of a folder's modules divides by the length; a folder without a list of them does not.
bool normalizes(const std::string& folder) {
  const std::string file = file_in_folder(folder, "modules.json");
  if (!path_exists(file)) return false;
  const Json json = parse_json(fmt::format("{{\"modules\": {}}}", read_text(file)), file);
  const Json& modules = json.at("modules");
  if (!modules.is_array()) raise(ErrorKind::format, "{}: not a list of modules", file);
  for (const Json& module : modules) {
    if (!module.is_object() || !module.contains("type") || !module.at("type").is_string())
      raise(ErrorKind::format, "{}: a module has no \"type\"", file);
    const std::string name = module.at("type").get<std::string>();
    if (name.ends_with(".Normalize")) return true;
    if (!name.ends_with(".Transformer") && !name.ends_with(".Pooling"))
      raise(ErrorKind::config, "{}: the module \"{}\" is not computed here", file, name);
  }
  return false;
}

/// The encoder of a model without a head, or of a masked language model.
struct TakeEncoder {
  const std::string& folder;
  SentenceEncoderConfig& config;

  template <std::derived_from<EncoderModel> M>
  const EncoderModel& operator()(const std::unique_ptr<M>& model) const {
    config.encoder = model->config();
    return *model;
  }
  const EncoderModel& operator()(const std::unique_ptr<MaskedLanguageModel>& model) const {
    config.encoder = model->config();
    return *model->base;
  }
  template <class M>
  const EncoderModel& operator()(const std::unique_ptr<M>& model) const {
    raise(ErrorKind::config, "{}/config.json: holds a {}; sentences are embedded by an encoder", folder,
          model->type_name());
  }
};

}  // namespace

std::optional<nn::Pooling> read_pooling(const std::string& folder) {
  const std::string file = file_in_folder(folder, "1_Pooling/config.json");
  if (!path_exists(file)) return std::nullopt;
  const ConfigReader config(read_text(file), file);
  const bool mean = config.flag("pooling_mode_mean_tokens", false);
  if (mean == config.flag("pooling_mode_cls_token", false))
    raise(ErrorKind::config, "{}: either \"pooling_mode_mean_tokens\" or \"pooling_mode_cls_token\" must be true",
          file);
  return mean ? nn::Pooling::mean : nn::Pooling::first;
}

std::unique_ptr<SentenceEncoder> load_sentence_encoder(const std::string& folder, const std::string& below) {
  SentenceEncoderConfig config{.pooling = read_pooling(folder).value_or(nn::Pooling::mean),
                               .normalize = normalizes(folder)};
  const AnyModel model = is_adapter_folder(folder) ? load_with_adapter(folder, below) : load_model(folder);
  nn::merge_adapters(module_of(model));
  const EncoderModel& base = std::visit(TakeEncoder{folder, config}, model);
  auto found = std::make_unique<SentenceEncoder>(config);
  found->to(base.parameters().front().dtype());
  nn::StateDict values = base.state_dict();
  std::erase_if(values, [](const auto& named) {
    return named.first.starts_with("pooler.") || named.first.find(".lora.") != std::string::npos;
  });
  found->base->load_state_dict(values);
  found->eval();
  return found;
}

void save_encoder(const std::string& folder, const SentenceEncoder& model) {
  namespace hf = hugging_face;
  EncoderConfig encoder = model.config().encoder;
  std::visit(
      [](auto& c) {
        if constexpr (requires { c.pooler; }) c.pooler = false;
      },
      encoder);
  make_folder(folder);
  write_weights(folder, hf::encoder_layout(encoder).to_file(model.base->state_dict()), SaveOptions().max_shard_bytes);
  write_json(fmt::format("{}/config.json", folder),
             hf::encoder_json(encoder, hf::EncoderHead::none, model.base->parameters().front().dtype()));
}

void save(const std::string& folder, const SentenceEncoder& model, const SentenceFolderOptions& options) {
  save_encoder(folder, model);
  save_sentence_modules(folder, model, options);
}

void save_sentence_modules(const std::string& folder, const SentenceEncoder& model,
                           const SentenceFolderOptions& options) {
  make_folder(fmt::format("{}/1_Pooling", folder));
  if (model.config().normalize) make_folder(fmt::format("{}/2_Normalize", folder));
  const bool mean = model.config().pooling == nn::Pooling::mean;
  write_json(fmt::format("{}/1_Pooling/config.json", folder), {{"word_embedding_dimension", model.base->width()},
                                                               {"pooling_mode_cls_token", !mean},
                                                               {"pooling_mode_mean_tokens", mean}});
  Json modules = Json::array();
  const auto module = [&modules](const char* path, const char* type) {
    const auto place = modules.size();
    modules.push_back({{"idx", place},
                       {"name", fmt::format("{}", place)},
                       {"path", path},
                       {"type", fmt::format("{}{}", kModules, type)}});
  };
  module("", "Transformer");
  module("1_Pooling", "Pooling");
  if (model.config().normalize) module("2_Normalize", "Normalize");
  write_json(fmt::format("{}/modules.json", folder), modules);
  write_json(fmt::format("{}/sentence_bert_config.json", folder),
             {{"max_seq_length", options.max_tokens.value_or(model.base->max_length())}, {"do_lower_case", false}});
  write_json(fmt::format("{}/config_sentence_transformers.json", folder),
             {{"prompts", Json::object()}, {"default_prompt_name", nullptr}, {"similarity_fn_name", "cosine"}});
}

}  // namespace tape::models
