#include "models/encoders/encoder_folder.h"

#include <algorithm>
#include <tuple>
#include <typeinfo>

#include "models/families.h"
#include "models/folders/family.h"
#include "models/folders/folder_loading.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

/// The head that the tensors of a folder without "architectures" have: that with most names of those whose names are
/// all there; none where there is no such head, or two are alike.
std::optional<hf::EncoderHead> classifier_of(const hf::EncoderFamily& family, const ConfigReader& config,
                                             const Weights& weights) {
  const std::string prefix = family.prefix;
  const auto holds = [&](const std::string& name) {
    return weights.tensors.contains(name) ||
           (name.starts_with(prefix) && weights.tensors.contains(name.substr(prefix.size())));
  };
  size_t most = 0;
  std::optional<hf::EncoderHead> found;
  const auto consider = [&](hf::EncoderHead head, const hf::HeadNames& names, auto&& layout) {
    if (!holds(fmt::format("{}.weight", names.classifier))) return;
    const std::vector<std::string> all = layout().their_names();
    if (all.size() < most || !std::ranges::all_of(all, holds)) return;
    found = all.size() == most ? std::nullopt : std::optional(head);
    most = all.size();
  };
  using enum hf::EncoderHead;
  consider(sequence, family.sequence, [&] {
    return hf::sequence_classifier_layout(hf::read_sequence_classifier({&family, sequence}, config));
  });
  consider(token, family.token, [&] {
    return hf::token_classifier_layout(hf::read_token_classifier({&family, token}, config));
  });
  consider(span, family.span, [&] {
    return hf::question_answerer_layout(hf::read_question_answerer({&family, span}, config));
  });
  return found;
}

}  // namespace

std::unique_ptr<EncoderModel> encoder_alone(const std::string& file, const EncoderConfig& config,
                                            const Weights& weights) {
  const EncoderConfig c = with_pooler(config, weights.tensors.contains("pooler.dense.weight"));
  return made_and_filled(
      file, weights, [&] { return hf::encoder_layout(c); }, "", [&] { return hf::family_of(c).make(c); });
}

AnyModel load_encoder(const std::string& folder, const ConfigReader& config,
                      const hf::EncoderArchitecture& architecture) {
  const std::string& file = config.where();
  const auto weights_of = [&](const EncoderConfig& c) {
    Weights weights = read_weights(folder);
    weights.tensors = hf::with_new_names(std::move(weights.tensors));
    check_layers(file, std::visit([](const auto& each) { return each.layers; }, c), weights);
    return weights;
  };
  const std::string prefix = architecture.family->prefix;
  const auto load_alone = [&](Weights weights) {
    weights.tensors = without_prefix(std::move(weights.tensors), prefix);
    return encoder_alone(file, hf::read_encoder({architecture.family, hf::EncoderHead::none}, config), weights);
  };
  switch (architecture.head) {
    case hf::EncoderHead::masked_token: {
      config.require_flag("tie_word_embeddings", true, true);
      EncoderConfig c = hf::read_encoder(architecture, config);
      const Weights weights = weights_of(c);
      if (auto* deberta = std::get_if<DebertaConfig>(&c); deberta && !config.has("legacy"))
        deberta->legacy_head = !weights.tensors.contains("lm_predictions.lm_head.bias");
      // Names without the prefix are the head's.
      const bool headed = std::ranges::any_of(hf::masked_language_model_layout(c).their_names(), [&](const auto& name) {
        return !name.starts_with(prefix) && weights.tensors.contains(name);
      });
      if (!headed && config.names("architectures").empty())
        if (const auto head = classifier_of(*architecture.family, config, weights))
          return load_encoder(folder, config, {architecture.family, *head});
      if (!headed) return load_alone(weights);
      return filled<MaskedLanguageModel>(
          file, c, weights, [&] { return hf::masked_language_model_layout(c); }, prefix);
    }
    case hf::EncoderHead::sequence: {
      const SequenceClassifierConfig c = hf::read_sequence_classifier(architecture, config);
      return filled<SequenceClassifier>(
          file, c, weights_of(c.encoder), [&] { return hf::sequence_classifier_layout(c); }, prefix);
    }
    case hf::EncoderHead::token: {
      const TokenClassifierConfig c = hf::read_token_classifier(architecture, config);
      return filled<TokenClassifier>(
          file, c, weights_of(c.encoder), [&] { return hf::token_classifier_layout(c); }, prefix);
    }
    case hf::EncoderHead::span: {
      const QuestionAnswererConfig c = hf::read_question_answerer(architecture, config);
      return filled<QuestionAnswerer>(
          file, c, weights_of(c.encoder), [&] { return hf::question_answerer_layout(c); }, prefix);
    }
    case hf::EncoderHead::none:
      break;
  }
  return load_alone(weights_of(hf::read_encoder(architecture, config)));
}

}  // namespace tape::models

namespace tape::models::hugging_face {
namespace {

/// Calls use(model) with an encoder as it is, alone or with a head.
template <class Use>
auto with_head(const nn::Module& model, Use&& use) {
  if (const auto* of_words = dynamic_cast<const MaskedLanguageModel*>(&model)) return use(*of_words);
  if (const auto* of_texts = dynamic_cast<const SequenceClassifier*>(&model)) return use(*of_texts);
  if (const auto* of_tokens = dynamic_cast<const TokenClassifier*>(&model)) return use(*of_tokens);
  if (const auto* of_spans = dynamic_cast<const QuestionAnswerer*>(&model)) return use(*of_spans);
  return use(dynamic_cast<const EncoderModel&>(model));
}

class EncoderModels final : public ModelFamily {
 public:
  std::vector<FolderClass> classes() const override { return {}; }  // encoder_architectures() tells of them
  std::optional<AnyModel> load(const std::string& folder, const ConfigReader& config) const override {
    const auto architecture = encoder_architecture(config);
    if (!architecture) return std::nullopt;
    return load_encoder(folder, config, *architecture);
  }
  bool has(const nn::Module& model) const override {
    return dynamic_cast<const EncoderModel*>(&model) || dynamic_cast<const MaskedLanguageModel*>(&model) ||
           dynamic_cast<const SequenceClassifier*>(&model) || dynamic_cast<const TokenClassifier*>(&model) ||
           dynamic_cast<const QuestionAnswerer*>(&model);
  }
  Layout layout(const nn::Module& model) const override {
    return with_head(model, [](const auto& m) { return layout_of_encoder(m); });
  }
  FolderTexts texts(const nn::Module& model, const SaveOptions&) const override {
    return with_head(model, [](const auto& m) -> FolderTexts {
      return {json_text(kConfig, config_json(m, m.parameters().front().dtype()))};
    });
  }
  std::string holding(const std::type_info& type) const override {
    std::string titles;
    for (const EncoderFamily* family : encoder_families()) {
      if (type == *family->type) return family->holding;
      titles += fmt::format("{}{}", titles.empty() ? "" : ", ", family->title);
    }
    if (type == typeid(EncoderModel)) return fmt::format("an encoder without a head ({})", titles);
    for (const auto& [head, name, architecture] :
         {std::tuple{&typeid(MaskedLanguageModel), "MaskedLanguageModel", "BertForMaskedLM"},
          std::tuple{&typeid(SequenceClassifier), "SequenceClassifier", "BertForSequenceClassification"},
          std::tuple{&typeid(TokenClassifier), "TokenClassifier", "BertForTokenClassification"},
          std::tuple{&typeid(QuestionAnswerer), "QuestionAnswerer", "BertForQuestionAnswering"}})
      if (type == *head) return fmt::format("a {} ({} and its kin)", name, architecture);
    return "";
  }
};

}  // namespace

const ModelFamily& encoder_models() {
  static const auto& family = *new const EncoderModels;
  return family;
}

}  // namespace tape::models::hugging_face
