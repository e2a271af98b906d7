#pragma once

#include "folders/folder.h"

namespace tape::models {

/// Options of run().
struct RunOptions {
  bool gradients = false;  ///< also return `grad.<parameter>` of the loss; requires labels
};

/// Everything a model computes, under transformers' names, for comparing the two.
///
/// Inputs, all [B, T] of i64: `input_ids`; for encoders `attention_mask` (1 is visible, 0 hidden) and, if they have
/// segments, `token_type_ids`; for a decoder-only model `attention_mask` and `position_ids`, which hide nothing (as in
/// transformers when it caches keys and values, its default); for an encoder-decoder model `attention_mask`,
/// `decoder_input_ids` and `decoder_attention_mask`. `labels` (-100 is ignored; those of a SequenceClassifier as for
/// its loss()) give the `loss`, as do `start_positions` and `end_positions` [B] of a QuestionAnswerer. A decoder-only
/// model shifts labels by one; an encoder-decoder model derives missing decoder_input_ids from them. Positions that no
/// mask hides are visible, including padding.
///
/// A Vit and an ImageClassifier take `pixel_values` [B, channels, H, W] of the model's dtype; labels are as for the
/// ImageClassifier's loss().
///
/// Outputs: `logits` (of a QuestionAnswerer `start_logits` and `end_logits`), `last_hidden_state`, `hidden_states.N`,
/// `attentions.N` and, for an encoder with a pooler, `pooler_output`; of an encoder-decoder model
/// `encoder_hidden_states.N`, `encoder_attentions.N`, `encoder_last_hidden_state`, `decoder_hidden_states.N`,
/// `decoder_attentions.N`, `cross_attentions.N`; `loss`, and the gradients. hidden_states.0 are the embeddings, and the
/// last are the last_hidden_state (in a Vit they are taken before the final norm). The model runs in its current mode.
///
/// Throws Error (config) for missing or unknown inputs, (shape) or (dtype) for mismatched ones, naming the input.
nn::StateDict run(const AnyModel& model, const nn::StateDict& inputs, const RunOptions& options = {});

}  // namespace tape::models
