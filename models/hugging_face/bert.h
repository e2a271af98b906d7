#pragma once

#include "../layout.h"
#include "../sequence_classifier.h"
#include "common.h"

/// BertModel, BertForMaskedLM and BertForSequenceClassification of transformers.
namespace tape::models::hugging_face {

BertConfig read_bert_config(const ConfigReader& config);
SequenceClassifierConfig read_classifier_config(const ConfigReader& config, nn::Pooling pooling);

nlohmann::ordered_json config_json(const Bert& model, DType dtype);
nlohmann::ordered_json config_json(const MaskedLanguageModel& model, DType dtype);
/// BertForSequenceClassification pools the first position. A classifier that pools the mean has no class in
/// transformers: it has kMeanClassifier's architecture and model type, which transformers refuses by name.
nlohmann::ordered_json config_json(const SequenceClassifier& model, DType dtype);
inline constexpr const char* kMeanClassifier = "TapeformerMeanPoolingClassifier";
inline constexpr const char* kMeanClassifierType = "tapeformer-mean-pooling-classifier";

Layout bert_layout(const BertConfig& config);
Layout masked_language_model_layout(const BertConfig& config);
Layout classifier_layout(const SequenceClassifierConfig& config);

/// Older files say gamma and beta where newer ones say weight and bias.
std::map<std::string, Tensor> with_new_names(std::map<std::string, Tensor> tensors);

}  // namespace tape::models::hugging_face
