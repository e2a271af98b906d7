#pragma once

#include "bert.h"

namespace tape::models {

/// A Bert and what is said of whole sequences.
struct SequenceClassifierConfig {
  BertConfig bert = {};
  int64_t num_labels = 2;
  nn::Pooling pooling = nn::Pooling::first;  ///< first: through Bert's pooler, as in BERT; mean: without
  std::optional<double> dropout = {};        ///< in front of the classifier; bert.dropout where not given
  std::vector<std::string> labels = {};      ///< their names; none, or num_labels of them

  /// One name a label: LABEL_0, LABEL_1, ... where there are none, as transformers has it.
  std::vector<std::string> label_names() const;
};

/// Bert, pooling, dropout and a linear layer: token ids [B, T] to logits [B, num_labels] (Devlin et al. 2019, 4.1).
class SequenceClassifier : public nn::Layer<SequenceClassifier> {
 public:
  /// Error (config) naming the value that does not fit. bert.pooler follows from the pooling.
  explicit SequenceClassifier(const SequenceClassifierConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, num_labels]; the mean is over the positions that the mask shows.
  /// Errors as Bert.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);

  const SequenceClassifierConfig& config() const { return config_; }

  nn::Child<Bert> bert;
  nn::Child<nn::ClassificationHead> head;

 private:
  SequenceClassifierConfig config_;
};

}  // namespace tape::models
