#pragma once

#include <span>

#include "sequence_classifier.h"

namespace tape::models {

/// Options of classify().
struct ClassifyOptions {
  int64_t batch_tokens = 4096;  ///< tokens per batch, including padding
};

/// What logits [..., num_labels] mean: probabilities by softmax, or by sigmoid for multi-label classification; the
/// values of a regression.
Tensor label_values(const Tensor& logits, ProblemType problem);

/// Probabilities [num_labels] of each sequence, in the given order, or the values of a regression: label_values() of
/// SequenceClassifier::problem_type(); none for an empty sequence.
/// `sequences` are ids from the tokenizer, with their segments in `type_ids`, which may be empty for all 0. They are
/// sorted by length into batches; results do not depend on the batch (up to the rounding of differently sized
/// products).
///
/// The model should be in evaluation mode. Throws Error (shape) for a sequence longer than the model's positions, or
/// mismatched segments; (index) for an id outside the vocabulary; (numeric) if the model returns NaN or infinity.
std::vector<std::vector<double>> classify(SequenceClassifier& model, std::span<const std::vector<int64_t>> sequences,
                                          std::span<const std::vector<int64_t>> type_ids = {},
                                          const ClassifyOptions& options = {});

/// Label ids by descending probability; ties keep their order.
std::vector<size_t> ranked_labels(const std::vector<double>& probabilities);

}  // namespace tape::models
