#pragma once

#include <string>

#include "../models/gpt.h"
#include "../models/gpt_neox.h"
#include "../models/llama.h"
#include "../models/masked_language_model.h"
#include "../models/sentence_encoder.h"
#include "../models/sequence_classifier.h"
#include "../models/token_classifier.h"
#include "../models/transformer.h"
#include "task.h"

namespace tape::train {

/// Parameters of the model that a configuration describes, which is not made. In double: sizes may be absurd.
double parameter_count(const models::GptConfig& config);
double parameter_count(const models::LlamaConfig& config);
double parameter_count(const models::GptNeoXConfig& config);
double parameter_count(const models::TransformerConfig& config);
double parameter_count(const models::SequenceClassifierConfig& config);
double parameter_count(const models::TokenClassifierConfig& config);
double parameter_count(const models::SentenceEncoderConfig& config);
double parameter_count(const models::EncoderConfig& config);  ///< of the masked language model

/// Error (out_of_memory) where this machine, or the control group of this process, cannot hold what training needs for
/// so many parameters: each in f32, with its gradient unless `run` steps in the backward, and Adam's two means as `run`
/// keeps them. `root` is as control_group_limit() has it. `train lm: 1.967e+10 parameters take 73.3 GiB, ...`
void check_memory(const char* task, double parameters, const TaskOptions& run, const std::string& root = {});

}  // namespace tape::train
