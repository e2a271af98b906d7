#pragma once

#include "folders/folder.h"

namespace tape::models {

struct RunOptions {
  bool gradients = false;  ///< also grad.<parameter> of the loss; needs labels
};

/// Everything a model computes, under the names that transformers gives it, for comparing the two.
///
/// Inputs, all [B, T] of i64: `input_ids`; for encoders `attention_mask` (1 is seen, 0 hidden) and, where they have
/// segments, `token_type_ids`; for a decoder-only model `attention_mask` and `position_ids`, which hide
/// nothing (as in transformers where it keeps keys and values, its default); for an encoder-decoder model
/// `attention_mask`, `decoder_input_ids` and `decoder_attention_mask`. `labels` (-100 is ignored; those of a
/// SequenceClassifier as its loss() takes them) give the `loss`, of a QuestionAnswerer `start_positions` and
/// `end_positions` [B]; a decoder-only model shifts them by one, and an encoder-decoder model makes decoder_input_ids
/// from them where there are none. What is not hidden by a mask is seen, padding too.
///
/// A Vit and an ImageClassifier take `pixel_values` [B, channels, H, W] of the model's dtype; labels are as the
/// ImageClassifier's loss() takes them.
///
/// Outputs: `logits` (of a QuestionAnswerer `start_logits` and `end_logits`), `last_hidden_state`, `hidden_states.N`,
/// `attentions.N` and, for an encoder with a pooler, `pooler_output`; of an encoder-decoder model
/// `encoder_hidden_states.N`, `encoder_attentions.N`, `encoder_last_hidden_state`, `decoder_hidden_states.N`,
/// `decoder_attentions.N`, `cross_attentions.N`; `loss`, and the gradients. hidden_states.0 are the embeddings, and the
/// last are the last_hidden_state (of a Vit they stand in front of the final norm). The model runs in the mode it is
/// in.
///
/// Error (config) for inputs that are missing or unknown to the model, Error (shape) or (dtype) for ones that do not
/// fit, naming the input.
nn::StateDict run(const AnyModel& model, const nn::StateDict& inputs, const RunOptions& options = {});

}  // namespace tape::models
