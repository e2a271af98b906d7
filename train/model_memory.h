#pragma once

#include "../models/gpt.h"
#include "../models/sequence_classifier.h"
#include "../models/transformer.h"

namespace tape::train {

/// Parameters of the model that a configuration describes, which is not made. In double: sizes may be absurd.
double parameter_count(const models::GptConfig& config);
double parameter_count(const models::TransformerConfig& config);
double parameter_count(const models::SequenceClassifierConfig& config);

/// Error (out_of_memory) where this machine cannot hold what training needs for so many parameters: each in f32 with
/// its gradient and Adam's two means. `train lm: 1.967e+10 parameters take 73.3 GiB, ...`
void check_memory(const char* task, double parameters);

}  // namespace tape::train
