#pragma once

#include "models/hugging_face/common.h"
#include "models/layout.h"
#include "models/sequence_classifier.h"

/// BertModel, BertForMaskedLM and BertForSequenceClassification of transformers.
namespace tape::models::hugging_face {

BertConfig read_bert_config(const ConfigReader& config);
SequenceClassifierConfig read_classifier_config(const ConfigReader& config);

nlohmann::ordered_json config_json(const Bert& model, DType dtype);
nlohmann::ordered_json config_json(const MaskedLanguageModel& model, DType dtype);
/// Error (config) for pooling by the mean, which BertForSequenceClassification does not know.
nlohmann::ordered_json config_json(const SequenceClassifier& model, DType dtype);

Layout bert_layout(const BertConfig& config);
Layout masked_language_model_layout(const BertConfig& config);
Layout classifier_layout(const SequenceClassifierConfig& config);

/// Older files say gamma and beta where newer ones say weight and bias.
std::map<std::string, Tensor> with_new_names(std::map<std::string, Tensor> tensors);

}  // namespace tape::models::hugging_face
