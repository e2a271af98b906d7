// Loads the base model of adapters as the class that the adapters were trained for.

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "models/adapters/adapter_folder.h"
#include "models/adapters/config.h"
#include "models/encoders/encoder_folder.h"
#include "models/folders/folder_loading.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

std::string in(const std::string& folder, const char* file) { return fmt::format("{}/{}", folder, file); }

ConfigReader read_config(const std::string& folder) {
  const std::string file = file_in_folder(folder, "config.json");
  return {read_text(file), file};
}

/// Converts the base model to the class that the adapters were trained for.
class AdaptedModel {
 public:
  AdaptedModel(const std::string& folder, const ConfigReader& config, const std::string& base, const AnyModel& below)
      : config_(config),
        where_(adapter_weights_path(folder)),
        base_where_(base),
        whole_(read_adapter_tensors(folder).whole) {
    std::visit([this](const auto& model) { take(*model); }, below);
  }

  bool has_encoder() const { return !encoder_.empty(); }

  AnyModel encoder(const hf::EncoderArchitecture& architecture) const {
    const EncoderConfig config = hf::read_encoder({architecture.family, hf::EncoderHead::none}, config_);
    nn::StateDict values;
    for (const auto& [name, value] : encoder_) values.emplace(name.substr(name.find('.') + 1), value);
    return make_headless_encoder(config_.where(), config,
                                 weights(config, [&] { return hf::encoder_layout(config).to_file(values); }));
  }

  AnyModel as_sequence_classifier(const hf::EncoderArchitecture& architecture) const {
    return headed<SequenceClassifier>(
        with_labels(hf::read_sequence_classifier(architecture, config_), architecture.family->sequence));
  }

  AnyModel as_token_classifier(const hf::EncoderArchitecture& architecture) const {
    return headed<TokenClassifier>(
        with_labels(hf::read_token_classifier(architecture, config_), architecture.family->token));
  }

 private:
  /// A model without an encoder contributes nothing.
  void take(const nn::Module&) {}
  void take(const EncoderModel& model) {
    for (const auto& [name, value] : model.state_dict())
      encoder_.emplace(fmt::format("{}.{}", model.options().family, name), value);
  }
  template <class M>
    requires requires(const M& model) { model.base->options().family; }
  void take(const M& model) {
    take(*model.base);
    all_ = model.state_dict();
  }

  /// Sets as many labels as the saved head has; a configuration taken from the base model may have another count.
  template <class Config>
  Config with_labels(Config c, const hf::HeadNames& names) const {
    const auto head = whole_.find(fmt::format("{}.weight", names.classifier));
    if (head == whole_.end() || head->second.rank() != 2 || head->second.size(0) == c.num_labels) return c;
    c.num_labels = head->second.size(0);
    c.labels.clear();
    return c;
  }

  template <class M, class Config>
  AnyModel headed(const Config& config) const {
    nn::StateDict values = encoder_;
    values.insert(all_.begin(), all_.end());
    const auto layout = [&] { return hf::headed_layout(config); };
    return filled<M>(config_.where(), config, weights(config.encoder, [&] { return layout().to_file(values); }),
                     layout);
  }

  /// Tensors of the base model, replaced and extended by those of modules_to_save.
  template <class ToFile>
  Weights weights(const EncoderConfig& config, ToFile&& to_file) const {
    check_layers(config_.where(), std::visit([](const auto& each) { return each.layers; }, config),
                 {encoder_, base_where_});
    Weights weights{.tensors = naming(config_.where(), to_file), .where = where_};
    for (const auto& [name, value] : whole_) weights.tensors.insert_or_assign(name, value);
    return weights;
  }

  const ConfigReader& config_;
  const std::string where_, base_where_;
  std::map<std::string, Tensor> whole_;
  nn::StateDict encoder_, all_;  ///< values of the encoder, with the prefix it has below a head; of a model with a head
};

/// The encoder class that the adapters were trained for; none if it is the base model's own.
std::optional<hf::EncoderArchitecture> architecture_of(const std::string& folder, const ConfigReader& config) {
  const auto named = hf::encoder_architecture(config);
  if (!named || config.where() == in(folder, "config.json")) return named;
  const std::string task = AdapterConfig(folder).task();
  if (task == "SEQ_CLS") return hf::EncoderArchitecture{named->family, hf::EncoderHead::sequence, named->pooling};
  if (task == "TOKEN_CLS") return hf::EncoderArchitecture{named->family, hf::EncoderHead::token};
  if (task == "FEATURE_EXTRACTION") return hf::EncoderArchitecture{named->family, hf::EncoderHead::none};
  return std::nullopt;
}

/// Loads the base model as the class that the adapters were trained for.
AnyModel load_base_model(const std::string& folder, const std::string& base) {
  AnyModel below = load_model(base);
  const ConfigReader config = read_config(folder_has(folder, "config.json") ? folder : base);
  const auto architecture = architecture_of(folder, config);
  if (!architecture) return below;
  const AdaptedModel adapted(folder, config, base, below);
  if (!adapted.has_encoder())
    raise(ErrorKind::config, "{}: the adapters are for an encoder, and {} is a {}", adapter_config_path(folder), base,
          module_of(below).type_name());
  switch (architecture->head) {
    case hf::EncoderHead::none:
      return adapted.encoder(*architecture);
    case hf::EncoderHead::sequence:
      return adapted.as_sequence_classifier(*architecture);
    case hf::EncoderHead::token:
      return adapted.as_token_classifier(*architecture);
    default:
      return below;
  }
}

}  // namespace

bool is_adapter_folder(const std::string& folder) {
  return path_exists(adapter_config_path(folder)) && !path_exists(in(folder, "model.safetensors")) &&
         !path_exists(in(folder, "model.safetensors.index.json"));
}

std::string base_model_folder(const std::string& folder) {
  const std::string name = AdapterConfig(folder).base_model();
  for (const std::string& place : {name, fmt::format("{}/{}", folder, name)})
    if (!name.empty() && folder_has(place, "config.json") && !is_adapter_folder(place)) return place;
  raise(ErrorKind::config, "{}: \"base_model_name_or_path\" is \"{}\", which is not a folder with a model",
        adapter_config_path(folder), name);
}

AnyModel load_with_adapter(const std::string& folder, const std::string& base) {
  AnyModel model = load_base_model(folder, base.empty() ? base_model_folder(folder) : base);
  load_adapter(folder, model);
  return model;
}

}  // namespace tape::models
