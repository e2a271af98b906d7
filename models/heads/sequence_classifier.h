#pragma once

#include "../encoders/encoder_config.h"
#include "classification_loss.h"

namespace tape::models {

/// Options of a SequenceClassifier.
struct SequenceClassifierConfig {
  EncoderConfig encoder = {};  ///< the encoder
  int64_t num_labels = 2;      ///< number of labels, or of values of a regression
  /// first: through BERT's pooler, or the dense layer of other families; mean: BERT without its pooler.
  nn::Pooling pooling = nn::Pooling::first;
  std::optional<double> dropout = {};    ///< before the classifier; default: the family's
  std::vector<std::string> labels = {};  ///< label names; empty, or num_labels of them
  /// Default: regression for one label; for several, depends on the labels passed to loss().
  std::optional<ProblemType> problem_type = {};

  /// One name per label: LABEL_0, LABEL_1, ... if unset, as in transformers.
  std::vector<std::string> label_names() const;
};

/// An encoder, pooling, dropout and a linear layer: token ids [B, T] to logits [B, num_labels] (Devlin et al. 2019,
/// 4.1).
class SequenceClassifier : public nn::Layer<SequenceClassifier> {
 public:
  /// Throws Error (config) naming the invalid value. The pooling determines whether the encoder has a pooler.
  explicit SequenceClassifier(const SequenceClassifierConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, num_labels]; mean pooling covers the positions that the mask keeps.
  /// Throws the errors of EncoderModel.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// forward() with the padding masked.
  Tensor forward(const Tensor& ids);

  /// Problem type for labels of that dtype, see problem_type_of().
  ProblemType problem_type(DType labels = i64) const;
  /// classification_loss() of that problem; for a DeBERTa without a configured one, cross-entropy with probabilities
  /// [B, num_labels], as in transformers. Throws the same errors.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  /// The configuration given to the constructor.
  const SequenceClassifierConfig& config() const { return config_; }

  nn::Child<EncoderModel> base;            ///< named after its family: "bert"
  nn::Child<nn::ClassificationHead> head;  ///< text vector [B, C] to logits [B, num_labels]

 private:
  SequenceClassifierConfig config_;
};

}  // namespace tape::models
