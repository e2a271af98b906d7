#include "models/heads/sequence_classifier.h"

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "models/heads/labels.h"
#include "nn/init.h"

namespace tape::models {
namespace {

EncoderModelOptions base_of(const SequenceClassifierConfig& c) {
  check_labels("SequenceClassifier", c.labels, c.num_labels);
  EncoderModelOptions parts = options_without_pooler(c.encoder);
  parts.pooler = parts.sequence_reads_pooler && c.pooling == nn::Pooling::first;
  return parts;
}

}  // namespace

std::vector<std::string> SequenceClassifierConfig::label_names() const {
  return models::label_names(labels, num_labels);
}

SequenceClassifier::SequenceClassifier(const SequenceClassifierConfig& c)
    : base(this, model_options(c.encoder).family, base_of(c)),
      head(this, "head", base->width(), c.num_labels, with_dropout(base->options().sequence, c.dropout)),
      config_(c) {
  nn::init::start_normal(*head, base->options().init_std);
}

Tensor SequenceClassifier::forward(const Tensor& ids, const Mask& mask, const Tensor& segments) {
  const Tensor hidden = base(ids, mask, segments);
  if (config_.pooling == nn::Pooling::mean) return head(nn::mean_pool(hidden, mask));
  if (!base->pooler) return head(select(hidden, 1, 0));
  return head(base.run([&](EncoderModel& model) { return model.pool(hidden); }));
}

Tensor SequenceClassifier::forward(const Tensor& ids) { return forward(ids, base->padding(ids)); }

ProblemType SequenceClassifier::problem_type(DType labels) const {
  return problem_type_of(config_.problem_type, config_.num_labels, labels);
}

Tensor SequenceClassifier::loss(const Tensor& logits, const Tensor& labels) const {
  const ProblemType type = problem_type(labels.dtype());
  if (type == ProblemType::multi_label_classification && base->options().soft_labels && !config_.problem_type)
    return -mean(sum(label_targets("SequenceClassifier", logits, labels) * log_softmax(logits, -1), {-1}));
  return classification_loss("SequenceClassifier", type, logits, labels);
}

}  // namespace tape::models
