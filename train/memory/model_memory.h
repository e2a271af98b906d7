#pragma once

#include <string>

#include "../../models/decoders/gpt.h"
#include "../../models/decoders/gpt_neox.h"
#include "../../models/decoders/llama.h"
#include "../../models/encoder_decoders/transformer.h"
#include "../../models/heads/masked_language_model.h"
#include "../../models/heads/sequence_classifier.h"
#include "../../models/heads/token_classifier.h"
#include "../../models/sentence/sentence_encoder.h"
#include "../tasks/task.h"

namespace tape::train {

/// Number of parameters of a model with this configuration, without building it. A double, since sizes may be absurd.
double parameter_count(const models::GptConfig& config);
double parameter_count(const models::LlamaConfig& config);
double parameter_count(const models::GptNeoXConfig& config);
double parameter_count(const models::TransformerConfig& config);
double parameter_count(const models::SequenceClassifierConfig& config);
double parameter_count(const models::TokenClassifierConfig& config);
double parameter_count(const models::SentenceEncoderConfig& config);
double parameter_count(const models::EncoderConfig& config);  ///< of the masked language model

/// Throws Error (out_of_memory) if this machine, or the control group of this process, lacks the memory to train so
/// many parameters: each in f32, with its gradient unless `run` steps in the backward, and Adam's two moments in the
/// dtype of `run`. `root` is that of cgroup_memory_limit(). `train lm: 1.967e+10 parameters take 73.3 GiB, ...`
void check_memory(const char* task, double parameters, const TaskOptions& run, const std::string& root = {});

}  // namespace tape::train
