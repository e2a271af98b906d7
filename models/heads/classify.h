#pragma once

#include <span>

#include "sequence_classifier.h"

namespace tape::models {

struct ClassifyOptions {
  int64_t batch_tokens = 4096;  ///< tokens at once, padding included
};

/// Probabilities [num_labels] of each sequence, softmax(logits), or sigmoid(logits) where several labels may be right,
/// or the values themselves of a regression (SequenceClassifier::problem_type()), in the order given; none for an empty
/// one. Sequences are ids as the tokenizer gives them, with their segments in `type_ids`, or all of segment 0 where
/// that is empty. They are sorted by length into batches; each gets what it alone would get (up to the rounding of
/// products of another size).
///
/// The model should be in evaluation mode. Error (shape) for a sequence longer than the model's positions, or segments
/// that do not fit; (index) for an id that is not in its vocabulary; (numeric) where the model gives no numbers.
std::vector<std::vector<double>> classify(SequenceClassifier& model, std::span<const std::vector<int64_t>> sequences,
                                          std::span<const std::vector<int64_t>> type_ids = {},
                                          const ClassifyOptions& options = {});

/// Labels by their probabilities, the likeliest first; of equal ones the first.
std::vector<size_t> ranked_labels(const std::vector<double>& probabilities);

}  // namespace tape::models
