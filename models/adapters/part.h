#pragma once

#include "../decoders/causal_lm.h"
#include "../heads/masked_language_model.h"
#include "../heads/sequence_classifier.h"
#include "../heads/token_classifier.h"
#include "../sentence/sentence_encoder.h"
#include "adapter_folder.h"

namespace tape::models {

/// The part of a model that has adapters, and how peft stores them.
struct AdapterPart {
  nn::Module& module;         ///< the model, or its encoder if transformers has no class for the model
  std::string prefix = {};    ///< prefix of its names in the model: "bert."
  Layout layout = {};         ///< of the base model's folder
  AdapterMetadata note = {};  ///< task of the model's class, and its config.json if it has labels
};

/// Task CAUSAL_LM.
AdapterPart adapter_part(CausalLM& model);
/// Task SEQ_CLS, with config.json.
AdapterPart adapter_part(SequenceClassifier& model);
/// Task TOKEN_CLS, with config.json.
AdapterPart adapter_part(TokenClassifier& model);
/// No task: peft has none for this class.
AdapterPart adapter_part(MaskedLanguageModel& model);
/// Task FEATURE_EXTRACTION, of the encoder.
AdapterPart adapter_part(SentenceEncoder& model);

}  // namespace tape::models
