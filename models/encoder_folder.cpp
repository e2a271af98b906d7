#include "models/encoder_folder.h"

#include <algorithm>

#include "models/folder_loading.h"

namespace tape::models {
namespace {

namespace hf = hugging_face;

/// An encoder without a head: of the class of its configuration. A pooler is made where the file holds one.
struct LoadEncoder {
  const std::string& file;
  const Weights& weights;

  template <class M, class Config>
  AnyModel as(Config c) const {
    if constexpr (requires { c.pooler; }) c.pooler = weights.tensors.contains("pooler.dense.weight");
    return filled<M>(file, c, weights, [&] { return hf::encoder_layout(c); });
  }
  AnyModel operator()(const BertConfig& c) const { return as<Bert>(c); }
  AnyModel operator()(const RobertaConfig& c) const { return as<Roberta>(c); }
  AnyModel operator()(const DistilBertConfig& c) const { return as<DistilBert>(c); }
  AnyModel operator()(const MPNetConfig& c) const { return as<MPNet>(c); }
  AnyModel operator()(const DebertaConfig& c) const { return as<Deberta>(c); }
  AnyModel operator()(const ModernBertConfig& c) const { return as<ModernBert>(c); }
};

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

AnyModel encoder_alone(const std::string& file, const EncoderConfig& config, const Weights& weights) {
  return std::visit(LoadEncoder{file, weights}, config);
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
