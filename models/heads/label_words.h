#pragma once

#include <span>

#include "../../text/corpus/word_ids.h"
#include "classify.h"
#include "token_classifier.h"

namespace tape::models {

/// Label probabilities of words, softmax(logits) at the first token of each: for each sentence [places, num_labels] in
/// row-major order, in the order of WordIds::places. Sentences are sorted by length into batches; results do not depend
/// on the batch (up to the rounding of differently sized products).
///
/// The model should be in evaluation mode. Throws Error (index) for a position outside its sentence, and the errors of
/// classify().
std::vector<std::vector<double>> label_words(TokenClassifier& model, std::span<const text::WordIds> sentences,
                                             const ClassifyOptions& options = {});

}  // namespace tape::models
