#pragma once

#include "folder.h"

namespace tape::models {

struct RunOptions {
  bool gradients = false;  ///< also grad.<parameter> of the loss; needs labels
};

/// Everything a model computes, under the names that transformers gives it, for comparing the two.
///
/// Inputs, all [B, T] of i64: `input_ids`; for the Berts `attention_mask` (1 is seen, 0 hidden) and `token_type_ids`;
/// for a decoder-only model `attention_mask`; for an encoder-decoder model `attention_mask`, `decoder_input_ids` and
/// `decoder_attention_mask`. `labels` ([B] for a SequenceClassifier; -100 is ignored) give the `loss`; a decoder-only
/// model shifts them by one, and an encoder-decoder model makes decoder_input_ids from them where there are none. What
/// is not hidden by a mask is seen, padding too.
///
/// Outputs: `logits`, `last_hidden_state`, `hidden_states.N`, `attentions.N` and, for a Bert with one,
/// `pooler_output`; of an encoder-decoder model `encoder_hidden_states.N`, `encoder_attentions.N`,
/// `encoder_last_hidden_state`, `decoder_hidden_states.N`, `decoder_attentions.N`, `cross_attentions.N`; `loss`, and
/// the gradients. hidden_states.0 are the embeddings, and the last are the last_hidden_state. The model runs in the
/// mode it is in.
///
/// Error (config) for inputs that are missing or unknown to the model, Error (shape) or (dtype) for ones that do not
/// fit, naming the input.
nn::StateDict run(const AnyModel& model, const nn::StateDict& inputs, const RunOptions& options = {});

}  // namespace tape::models
