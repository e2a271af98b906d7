#pragma once

#include <span>

#include "../../text/word_ids.h"
#include "classify.h"
#include "token_classifier.h"

namespace tape::models {

/// Probabilities of the labels of words, softmax(logits) at the first token of each: for each sentence [places,
/// num_labels], row after row, in the order of WordIds::places. Sentences are sorted by length into batches; each gets
/// what it alone would get (up to the rounding of products of another size).
///
/// The model should be in evaluation mode. Error (index) for a place outside its sentence, and Errors as classify().
std::vector<std::vector<double>> label_words(TokenClassifier& model, std::span<const text::WordIds> sentences,
                                             const ClassifyOptions& options = {});

}  // namespace tape::models
