#pragma once

#include "../decoders/causal_lm.h"
#include "../heads/masked_language_model.h"
#include "../heads/sequence_classifier.h"
#include "../heads/token_classifier.h"
#include "../sentence/sentence_encoder.h"
#include "adapter_folder.h"

namespace tape::models {

/// What of a model has adapters, and how the package peft keeps them.
struct AdapterPart {
  nn::Module& module;       ///< the model, or the encoder in one that has no class in transformers
  std::string prefix = {};  ///< what the names of its values begin with in the model: "bert."
  Layout layout = {};       ///< of the folder below them
  AdapterNote note = {};    ///< the task of the model's class, and its config.json where it has labels
};

/// CAUSAL_LM.
AdapterPart adapter_part(CausalLM& model);
/// SEQ_CLS, with config.json.
AdapterPart adapter_part(SequenceClassifier& model);
/// TOKEN_CLS, with config.json.
AdapterPart adapter_part(TokenClassifier& model);
/// No task: peft has none for it.
AdapterPart adapter_part(MaskedLanguageModel& model);
/// FEATURE_EXTRACTION, of the encoder.
AdapterPart adapter_part(SentenceEncoder& model);

}  // namespace tape::models
