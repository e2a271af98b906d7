#include "models/sequence_classifier.h"

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/probability_loss.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/regression_loss.h"
#include "autograd/ops/shape.h"
#include "autograd/ops/softmax.h"
#include "autograd/random.h"
#include "models/labels.h"
#include "nn/check.h"
#include "nn/init.h"

namespace tape::models {
namespace {

template <nn::Pooling pooling>
GradcheckReport check_small(const nn::Checker& check) {
  manual_seed(1);
  SequenceClassifier model({.encoder = detail::small_bert(), .num_labels = 3, .pooling = pooling});
  return check(model, {tensor({{1, 2, 4}, {3, 1, 5}}, i64)}, "key.bias");
}

const nn::ModuleCheck first_check("SequenceClassifier", "first position", check_small<nn::Pooling::first>);
const nn::ModuleCheck mean_check("SequenceClassifier", "mean", check_small<nn::Pooling::mean>);

EncoderModelOptions base_of(const SequenceClassifierConfig& c) {
  check_labels("SequenceClassifier", c.labels, c.num_labels);
  EncoderModelOptions parts = parts_without_pooler(c.encoder);
  parts.pooler = parts.sequence_reads_pooler && c.pooling == nn::Pooling::first;
  return parts;
}

/// Labels as the values that logits [B, N] are held against; [B] for one label.
Tensor values_of(const Tensor& logits, const Tensor& labels) {
  const bool column = logits.size(1) == 1 && labels.rank() == 1 && labels.size(0) == logits.size(0);
  if (!column && !(labels.shape() == logits.shape()))
    raise(ErrorKind::shape, "SequenceClassifier: labels {} do not fit logits {}", to_string(labels.shape()),
          to_string(logits.shape()));
  return cast(reshape(labels, logits.shape()), logits.dtype());
}

Tensor right_labels(const Tensor& logits, const Tensor& labels) {
  if (labels.dtype() != i64)
    raise(ErrorKind::dtype, "SequenceClassifier: labels of which one is right must be i64, got {}",
          to_string(labels.dtype()));
  if (labels.numel() != logits.size(0))
    raise(ErrorKind::shape, "SequenceClassifier: labels {} do not fit logits {}", to_string(labels.shape()),
          to_string(logits.shape()));
  return reshape(labels, Shape{logits.size(0)});
}

}  // namespace

std::string_view to_string(ProblemType type) {
  if (type == ProblemType::regression) return "regression";
  return type == ProblemType::single_label_classification ? "single_label_classification"
                                                          : "multi_label_classification";
}

std::vector<std::string> SequenceClassifierConfig::label_names() const {
  return models::label_names(labels, num_labels);
}

SequenceClassifier::SequenceClassifier(const SequenceClassifierConfig& c)
    : base(this, parts_of(c.encoder).family, base_of(c)),
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
  if (config_.problem_type) return *config_.problem_type;
  if (config_.num_labels == 1) return ProblemType::regression;
  return is_floating(labels) ? ProblemType::multi_label_classification : ProblemType::single_label_classification;
}

Tensor SequenceClassifier::loss(const Tensor& logits, const Tensor& labels) const {
  switch (problem_type(labels.dtype())) {
    case ProblemType::regression:
      return mse_loss(logits, values_of(logits, labels));
    case ProblemType::single_label_classification:
      return cross_entropy(logits, right_labels(logits, labels));
    case ProblemType::multi_label_classification:
      break;
  }
  const Tensor shares = values_of(logits, labels);
  if (base->options().soft_labels && !config_.problem_type) return -mean(sum(shares * log_softmax(logits, -1), {-1}));
  return bce_with_logits_loss(logits, shares);
}

}  // namespace tape::models
