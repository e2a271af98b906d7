#pragma once

#include "../encoders/encoder_config.h"
#include "classification_loss.h"

namespace tape::models {

/// An encoder and what is said of whole sequences.
struct SequenceClassifierConfig {
  EncoderConfig encoder = {};
  int64_t num_labels = 2;
  /// first: through BERT's pooler, or its kin's dense layer; mean: BERT without its pooler.
  nn::Pooling pooling = nn::Pooling::first;
  std::optional<double> dropout = {};    ///< in front of the classifier; the family's where not given
  std::vector<std::string> labels = {};  ///< their names; none, or num_labels of them
  /// Where not given, regression of one label, of several what the labels of loss() say.
  std::optional<ProblemType> problem_type = {};

  /// One name a label: LABEL_0, LABEL_1, ... where there are none, as transformers has it.
  std::vector<std::string> label_names() const;
};

/// An encoder, pooling, dropout and a linear layer: token ids [B, T] to logits [B, num_labels] (Devlin et al. 2019,
/// 4.1).
class SequenceClassifier : public nn::Layer<SequenceClassifier> {
 public:
  /// Error (config) naming the value that does not fit. The encoder's pooler follows from the pooling.
  explicit SequenceClassifier(const SequenceClassifierConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, num_labels]; the mean is over the positions that the mask shows.
  /// Errors as EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);

  /// What the outputs are, given labels of that dtype: as problem_type_of() says.
  ProblemType problem_type(DType labels = i64) const;
  /// classification_loss() of that problem; of a DeBERTa without a configured one, the cross-entropy of shares [B,
  /// num_labels], as transformers has it. Errors as there.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  const SequenceClassifierConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;  ///< called as its family is: "bert"
  nn::Child<nn::ClassificationHead> head;

 private:
  SequenceClassifierConfig config_;
};

}  // namespace tape::models
