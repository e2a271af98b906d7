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
      // Names without the prefix are the head's.
      const bool headed = std::ranges::any_of(hf::masked_language_model_layout(c).their_names(), [&](const auto& name) {
        return !name.starts_with(prefix) && weights.tensors.contains(name);
      });
      if (!headed) return load_alone(weights);
      if (auto* deberta = std::get_if<DebertaConfig>(&c); deberta && !config.has("legacy"))
        deberta->legacy_head = !weights.tensors.contains("lm_predictions.lm_head.bias");
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
