#pragma once

#include <optional>
#include <string_view>

#include "../../autograd/tensor.h"

namespace tape::models {

/// What the outputs of a classifier of whole texts or images are: values; scores of labels of which one is right; or
/// scores of labels each of which is right or not.
enum class ProblemType { regression, single_label_classification, multi_label_classification };
/// "regression"
std::string_view to_string(ProblemType type);

/// What `num_labels` outputs are, given labels of that dtype: as configured, else a regression of one label, and of
/// several a choice of one where the labels are whole numbers (i64), of each else. So does transformers.
ProblemType problem_type_of(std::optional<ProblemType> configured, int64_t num_labels, DType labels);

/// Labels as the values that logits [B, N] are held against, in their shape and dtype; [B] will do for one label.
/// Error (shape) in the name of `owner` for labels of another shape.
Tensor label_values(const char* owner, const Tensor& logits, const Tensor& labels);

/// The mean loss of logits [B, N], a number: regression squares the distance to labels [B, N] (or [B] of one label); a
/// choice of one takes the cross-entropy of labels [B] (i64, -100 for none); of each takes the binary cross-entropy of
/// shares [B, N]. Errors in the name of `owner`: (shape) for labels of another shape, (dtype) for a choice of one that
/// is not i64.
Tensor classification_loss(const char* owner, ProblemType type, const Tensor& logits, const Tensor& labels);

}  // namespace tape::models
