#include "models/encoders/encoder_folder.h"

#include <algorithm>
#include <tuple>
#include <typeinfo>

#include <fmt/format.h>

#include "models/families.h"
#include "models/folders/family.h"
#include "models/folders/folder_loading.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

/// The head in a folder without "architectures", by its tensors: of the heads whose names are all present, the one with
/// the most names; nullopt if there is none or a tie.
std::optional<hf::EncoderHead> classifier_of(const hf::EncoderFamily& family, const ConfigReader& config,
                                             const Weights& weights) {
  const std::string prefix = family.prefix;
  const auto holds = [&](const std::string& name) {
    return weights.tensors.contains(name) ||
           (name.starts_with(prefix) && weights.tensors.contains(name.substr(prefix.size())));
  };
  size_t most = 0;
  std::optional<hf::EncoderHead> found;
  const auto consider = [&](hf::EncoderHead head, const hf::HeadNames& names, auto&& read) {
    if (!holds(fmt::format("{}.weight", names.classifier))) return;
    const std::vector<std::string> all = hf::headed_layout(read({&family, head}, config)).file_tensor_names();
    if (all.size() < most || !std::ranges::all_of(all, holds)) return;
    found = all.size() == most ? std::nullopt : std::optional(head);
    most = all.size();
  };
  consider(hf::EncoderHead::sequence, family.sequence, hf::read_sequence_classifier);
  consider(hf::EncoderHead::token, family.token, hf::read_token_classifier);
  consider(hf::EncoderHead::span, family.span, hf::read_question_answerer);
  return found;
}

}  // namespace

std::unique_ptr<EncoderModel> make_headless_encoder(const std::string& file, const EncoderConfig& config,
                                                    const Weights& weights) {
  const EncoderConfig c = with_pooler(config, weights.tensors.contains("pooler.dense.weight"));
  return make_and_load(
      file, weights, [&] { return hf::encoder_layout(c); }, "", [&] { return hf::family_of(c).make(c); });
}

AnyModel load_encoder(const std::string& folder, const ConfigReader& config,
                      const hf::EncoderArchitecture& architecture) {
  const std::string& file = config.where();
  const auto weights_of = [&](const EncoderConfig& c) {
    Weights weights = read_weights(folder);
    weights.tensors = hf::rename_legacy_tensors(std::move(weights.tensors));
    check_layers(file, std::visit([](const auto& each) { return each.layers; }, c), weights);
    return weights;
  };
  const std::string prefix = architecture.family->prefix;
  const auto load_without_head = [&](Weights weights) {
    weights.tensors = without_prefix(std::move(weights.tensors), prefix);
    return make_headless_encoder(file, hf::read_encoder({architecture.family, hf::EncoderHead::none}, config), weights);
  };
  const auto load_headed = [&]<class M>(std::type_identity<M>, const auto& c) -> AnyModel {
    return filled<M>(
        file, c, weights_of(c.encoder), [&] { return hf::headed_layout(c); }, prefix);
  };
  switch (architecture.head) {
    case hf::EncoderHead::masked_token: {
      config.require_flag("tie_word_embeddings", true, true);
      EncoderConfig c = hf::read_encoder(architecture, config);
      const Weights weights = weights_of(c);
      if (auto* deberta = std::get_if<DebertaConfig>(&c); deberta && !config.has("legacy"))
        deberta->legacy_head = !weights.tensors.contains("lm_predictions.lm_head.bias");
      // Names without the prefix belong to the head.
      const bool headed = std::ranges::any_of(
          hf::masked_language_model_layout(c).file_tensor_names(),
          [&](const auto& name) { return !name.starts_with(prefix) && weights.tensors.contains(name); });
      if (!headed && config.names("architectures").empty())
        if (const auto head = classifier_of(*architecture.family, config, weights))
          return load_encoder(folder, config, {architecture.family, *head});
      if (!headed) return load_without_head(weights);
      return filled<MaskedLanguageModel>(
          file, c, weights, [&] { return hf::masked_language_model_layout(c); }, prefix);
    }
    case hf::EncoderHead::sequence:
      return load_headed(std::type_identity<SequenceClassifier>(), hf::read_sequence_classifier(architecture, config));
    case hf::EncoderHead::token:
      return load_headed(std::type_identity<TokenClassifier>(), hf::read_token_classifier(architecture, config));
    case hf::EncoderHead::span:
      return load_headed(std::type_identity<QuestionAnswerer>(), hf::read_question_answerer(architecture, config));
    case hf::EncoderHead::none:
      break;
  }
  return load_without_head(weights_of(hf::read_encoder(architecture, config)));
}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

class EncoderModels final : public ModelFamily {
 public:
  std::vector<TransformersClass> classes() const override { return {}; }  // listed by encoder_architectures()
  std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const override {
    const auto architecture = encoder_architecture(config);
    if (!architecture) return std::nullopt;
    return load_encoder(folder, config, *architecture);
  }
  bool has(const nn::Module& model) const override {
    bool has = false;
    with_kind(model, [&](const auto& m) { has = requires { layout_of_encoder(m); }; });
    return has;
  }

  Layout layout(const nn::Module& model) const override {
    Layout layout;
    with_kind(model, [&](const auto& m) {
      if constexpr (requires { layout_of_encoder(m); }) layout = layout_of_encoder(m);
    });
    return layout;
  }

  FolderTextFiles texts(const nn::Module& model, const SaveOptions&) const override {
    const DType dtype = model.parameters().front().dtype();
    FolderTextFiles texts;
    with_kind(model, [&](const auto& m) {
      if constexpr (requires { config_json(m, dtype); }) texts = {json_text(kConfig, config_json(m, dtype))};
    });
    return texts;
  }

  std::string display_name(const std::type_info& type) const override {
    std::string titles;
    for (const EncoderFamily* family : encoder_families()) {
      if (type == *family->type) return family->display_name;
      titles += fmt::format("{}{}", titles.empty() ? "" : ", ", family->title);
    }
    if (type == typeid(EncoderModel)) return fmt::format("an encoder without a head ({})", titles);
    for (const auto& [head, name, architecture] :
         {std::tuple{&typeid(MaskedLanguageModel), "MaskedLanguageModel", "BertForMaskedLM"},
          std::tuple{&typeid(SequenceClassifier), "SequenceClassifier", "BertForSequenceClassification"},
          std::tuple{&typeid(TokenClassifier), "TokenClassifier", "BertForTokenClassification"},
          std::tuple{&typeid(QuestionAnswerer), "QuestionAnswerer", "BertForQuestionAnswering"}})
      if (type == *head) return fmt::format("a {} ({} and similar)", name, architecture);
    return "";
  }
};

}  // namespace

const ModelFamily& encoder_models() {
  static const auto& family = *new const EncoderModels;
  return family;
}

}  // namespace tape::models::hugging_face
