#include "models/heads/classification_loss.h"

#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/loss/regression_loss.h"
#include "autograd/ops/shape/shape.h"
#include "base/error.h"

namespace tape::models {
namespace {

[[noreturn]] void raise_unfit(const char* owner, const Tensor& logits, const Tensor& labels) {
  raise(ErrorKind::shape, "{}: labels {} do not match logits {}", owner, to_string(labels.shape()),
        to_string(logits.shape()));
}

Tensor right_labels(const char* owner, const Tensor& logits, const Tensor& labels) {
  if (labels.dtype() != i64)
    raise(ErrorKind::dtype, "{}: single-label labels must be i64, got {}", owner, to_string(labels.dtype()));
  if (labels.numel() != logits.size(0)) raise_unfit(owner, logits, labels);
  return reshape(labels, Shape{logits.size(0)});
}

}  // namespace

std::string_view to_string(ProblemType type) {
  if (type == ProblemType::regression) return "regression";
  return type == ProblemType::single_label_classification ? "single_label_classification"
                                                          : "multi_label_classification";
}

ProblemType problem_type_of(std::optional<ProblemType> configured, int64_t num_labels, DType labels) {
  if (configured) return *configured;
  if (num_labels == 1) return ProblemType::regression;
  return is_floating(labels) ? ProblemType::multi_label_classification : ProblemType::single_label_classification;
}

Tensor label_targets(const char* owner, const Tensor& logits, const Tensor& labels) {
  const bool column = logits.size(1) == 1 && labels.rank() == 1 && labels.size(0) == logits.size(0);
  if (!column && !(labels.shape() == logits.shape())) raise_unfit(owner, logits, labels);
  return cast(reshape(labels, logits.shape()), logits.dtype());
}

Tensor classification_loss(const char* owner, ProblemType type, const Tensor& logits, const Tensor& labels) {
  switch (type) {
    case ProblemType::regression:
      return mse_loss(logits, label_targets(owner, logits, labels));
    case ProblemType::single_label_classification:
      return cross_entropy(logits, right_labels(owner, logits, labels));
    case ProblemType::multi_label_classification:
      break;
  }
  return bce_with_logits_loss(logits, label_targets(owner, logits, labels));
}

}  // namespace tape::models
