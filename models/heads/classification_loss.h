#pragma once

#include <optional>
#include <string_view>

#include "../../autograd/tensor.h"

namespace tape::models {

/// Meaning of the outputs of a classifier of texts or images: values; scores of mutually exclusive labels; or scores of
/// independent labels.
enum class ProblemType { regression, single_label_classification, multi_label_classification };
/// "regression"
std::string_view to_string(ProblemType type);

/// Problem type of `num_labels` outputs: the configured one, or inferred as in transformers: regression for one label;
/// for several, single-label classification if the labels are i64 and multi-label classification otherwise.
ProblemType problem_type_of(std::optional<ProblemType> configured, int64_t num_labels, DType labels);

/// Labels in the shape and dtype of logits [B, N]; [B] is accepted if N = 1. Throws Error (shape), starting with
/// `owner`, for another shape.
Tensor label_targets(const char* owner, const Tensor& logits, const Tensor& labels);

/// Mean loss of logits [B, N], a scalar. Regression: squared error to labels [B, N] (or [B] if N = 1). Single-label:
/// cross-entropy with labels [B] (i64, -100 is ignored). Multi-label: binary cross-entropy with probabilities [B, N].
/// Throws Error, starting with `owner`: (shape) for labels of another shape, (dtype) for single-label labels that are
/// not i64.
Tensor classification_loss(const char* owner, ProblemType type, const Tensor& logits, const Tensor& labels);

}  // namespace tape::models
