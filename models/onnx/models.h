#pragma once

#include "../decoders/causal_lm.h"
#include "../encoder_decoders/encoder_decoder.h"
#include "../heads/masked_language_model.h"
#include "../heads/question_answerer.h"
#include "../heads/sequence_classifier.h"
#include "../heads/token_classifier.h"
#include "../vision/vit.h"
#include "graph.h"

// Whole models as graphs. Names and symbolic sizes of inputs and outputs are optimum's.
namespace tape::models::onnx {

/// input_ids and attention_mask [batch_size, sequence_length] -> logits.
void build_graph(Graph& g, const CausalLM& model);
/// For the next ids: also position_ids [batch_size, sequence_length] and past_key_values.N.key and .value
/// [batch_size, kv_heads, past_sequence_length, D] -> logits, present.N.key and .value.
void build_graph_with_past(Graph& g, const CausalLM& model);

/// input_ids, attention_mask and, if the model has segments, token_type_ids -> last_hidden_state and, if it has a
/// pooler, pooler_output.
void build_graph(Graph& g, const EncoderModel& model);
/// The same inputs -> logits.
void build_graph(Graph& g, const MaskedLanguageModel& model);
void build_graph(Graph& g, const SequenceClassifier& model);
void build_graph(Graph& g, const TokenClassifier& model);
/// -> start_logits, end_logits.
void build_graph(Graph& g, const QuestionAnswerer& model);

/// input_ids and attention_mask [batch_size, encoder_sequence_length], decoder_input_ids and decoder_attention_mask
/// [batch_size, decoder_sequence_length] -> logits.
void build_graph(Graph& g, const EncoderDecoder& model);
/// The encoder: input_ids and attention_mask [batch_size, encoder_sequence_length] -> last_hidden_state.
void build_encoder_graph(Graph& g, const EncoderDecoder& model);
/// The decoder: input_ids [batch_size, decoder_sequence_length], encoder_attention_mask, encoder_hidden_states ->
/// logits, and present.N.decoder.key and .value, present.N.encoder.key and .value [batch_size, kv_heads, length, D].
void build_decoder_graph(Graph& g, const EncoderDecoder& model);
/// The decoder for the next ids: past_key_values.N.decoder.key etc. instead of the hidden states -> logits,
/// present.N.decoder.key and .value.
void build_decoder_graph_with_past(Graph& g, const EncoderDecoder& model);

/// pixel_values [batch_size, channels, height, width] -> last_hidden_state and, if it has a pooler, pooler_output.
void build_graph(Graph& g, const Vit& model);
/// -> logits.
void build_graph(Graph& g, const ImageClassifier& model);

}  // namespace tape::models::onnx
