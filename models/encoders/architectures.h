#pragma once

#include "../heads/masked_language_model.h"
#include "../heads/question_answerer.h"
#include "../heads/sequence_classifier.h"
#include "../heads/token_classifier.h"
#include "encoder_family.h"

/// The encoder-only models of transformers, without and with heads.
namespace tape::models::hugging_face {

enum class EncoderHead { none, masked_token, sequence, token, span };

/// BertForMaskedLM: Bert, and a head of masked tokens. A classifier that pools the mean has no class in transformers
/// but ModernBERT's: it has kMeanClassifier's architecture and model type, which transformers refuses by name, and its
/// "encoder_type" is the family's.
struct EncoderArchitecture {
  const EncoderFamily* family = nullptr;
  EncoderHead head = EncoderHead::none;
  nn::Pooling pooling = nn::Pooling::first;
};
inline constexpr const char* kMeanClassifier = "TapeformerMeanPoolingClassifier";
inline constexpr const char* kMeanClassifierType = "tapeformer-mean-pooling-classifier";

/// Of a configuration whose "architectures" begin with `name`; none for a name of another kind.
std::optional<EncoderArchitecture> encoder_architecture(const std::string& name, const ConfigReader& config);
/// That of a configuration which names its model_type alone: a masked language model, or the encoder where a file holds
/// nothing else.
std::optional<EncoderArchitecture> encoder_of_type(const std::string& model_type);
/// That of any configuration, by the one or the other; none for a model of another kind.
std::optional<EncoderArchitecture> encoder_architecture(const ConfigReader& config);
/// All of them, in words: "Bert, ... and ..., each as Model, ForMaskedLM, ... or ForQuestionAnswering".
std::string encoder_architectures();

// Configurations; the encoder's pooler is as a model of that class has it.
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

/// Of the table; every configuration is of one.
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

/// Older files say gamma and beta where newer ones say weight and bias.
std::map<std::string, Tensor> with_new_names(std::map<std::string, Tensor> tensors);

}  // namespace tape::models::hugging_face
