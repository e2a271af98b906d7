#pragma once

#include "../heads/masked_language_model.h"
#include "../heads/question_answerer.h"
#include "../heads/sequence_classifier.h"
#include "../heads/token_classifier.h"
#include "encoder_family.h"

/// transformers' encoder-only models, with and without heads.
namespace tape::models::hugging_face {

enum class EncoderHead { none, masked_token, sequence, token, span };

/// For example BertForMaskedLM: family Bert, head masked_token. Among mean-pooling classifiers, transformers has a
/// class only for ModernBERT. The others use the architecture kMeanClassifier and its model type, which transformers
/// does not know; "encoder_type" names their family.
struct EncoderArchitecture {
  const EncoderFamily* family = nullptr;
  EncoderHead head = EncoderHead::none;
  nn::Pooling pooling = nn::Pooling::first;
};
inline constexpr const char* kMeanClassifier = "TapeformerMeanPoolingClassifier";
inline constexpr const char* kMeanClassifierType = "tapeformer-mean-pooling-classifier";

/// The architecture called `name`, from "architectures" of `config`; nullopt for another kind of model.
std::optional<EncoderArchitecture> encoder_architecture(const std::string& name, const ConfigReader& config);
/// The architecture of a configuration that has only a model_type: a masked language model, or the encoder if the file
/// contains nothing else.
std::optional<EncoderArchitecture> encoder_of_type(const std::string& model_type);
/// The architecture of any configuration, by "architectures" or model_type; nullopt for another kind of model.
std::optional<EncoderArchitecture> encoder_architecture(const ConfigReader& config);
/// A list of all of them for messages: "Bert, ... and ..., each as Model, ForMaskedLM, ... or ForQuestionAnswering".
std::string encoder_architectures();

// Configurations. Whether the encoder has a pooler depends on the class.
EncoderConfig read_encoder(const EncoderArchitecture& architecture, const ConfigReader& config);
SequenceClassifierConfig read_sequence_classifier(const EncoderArchitecture& architecture, const ConfigReader& config);
TokenClassifierConfig read_token_classifier(const EncoderArchitecture& architecture, const ConfigReader& config);
QuestionAnswererConfig read_question_answerer(const EncoderArchitecture& architecture, const ConfigReader& config);

nlohmann::ordered_json encoder_json(const EncoderConfig& config, EncoderHead head, DType dtype);
inline nlohmann::ordered_json config_json(const EncoderModel& model, DType dtype) {
  return encoder_json(config_of(model), EncoderHead::none, dtype);
}
nlohmann::ordered_json config_json(const MaskedLanguageModel& model, DType dtype);
nlohmann::ordered_json config_json(const SequenceClassifier& model, DType dtype);
nlohmann::ordered_json config_json(const TokenClassifier& model, DType dtype);
nlohmann::ordered_json config_json(const QuestionAnswerer& model, DType dtype);

/// The family of a configuration.
const EncoderFamily& family_of(const EncoderConfig& config);

Layout encoder_layout(const EncoderConfig& config);
Layout masked_language_model_layout(const EncoderConfig& config);
Layout headed_layout(const SequenceClassifierConfig& config);
Layout headed_layout(const TokenClassifierConfig& config);
Layout headed_layout(const QuestionAnswererConfig& config);

inline Layout layout_of_encoder(const EncoderModel& m) { return encoder_layout(config_of(m)); }
inline Layout layout_of_encoder(const MaskedLanguageModel& m) { return masked_language_model_layout(m.config()); }
template <class M>
  requires requires(const M& m) { headed_layout(m.config()); }
Layout layout_of_encoder(const M& m) {
  return headed_layout(m.config());
}

/// Renames gamma and beta in older files to weight and bias.
std::map<std::string, Tensor> rename_legacy_tensors(std::map<std::string, Tensor> tensors);

}  // namespace tape::models::hugging_face
