#pragma once

#include <string>

#include "../folders/folder.h"

namespace tape::models {

struct OnnxExportOptions {
  /// What matrices and tables are stored as: f32, f16 or bf16. Vectors stay f32, and everything is computed in f32.
  DType stored = f32;
  /// Of a decoder-only model: a graph of the next ids, with keys and values of the earlier ones as inputs and outputs.
  /// Of an encoder-decoder model: the folder `path` with three graphs, as optimum has them; the file that holds a
  /// target's first ids reads the memory, the one that goes on takes and gives keys and values.
  bool with_past = false;
  /// A larger file has its tensors beside it, in `path` + "_data" (OnnxSaveOptions).
  int64_t max_inline_bytes = 2'000'000'000;
};

/// Writes a model as a graph of ONNX (opset 17), for onnxruntime and its kin. Inputs and outputs are optimum's; any
/// batch and any length, up to the table of positions where there is one:
///
///     decoder-only models  input_ids, attention_mask -> logits
///       with_past          input_ids, attention_mask, position_ids, past_key_values.N.key, past_key_values.N.value
///                          -> logits, present.N.key, present.N.value
///     encoders             input_ids, attention_mask, token_type_ids -> last_hidden_state, pooler_output
///       with a head        the same -> logits; start_logits and end_logits of a QuestionAnswerer
///     encoder-decoders     input_ids, attention_mask, decoder_input_ids, decoder_attention_mask -> logits
///       with_past          three files:
///         encoder_model.onnx            input_ids, attention_mask -> last_hidden_state
///         decoder_model.onnx            input_ids, encoder_attention_mask, encoder_hidden_states -> logits,
///                                       present.N.decoder.key and .value, present.N.encoder.key and .value
///         decoder_with_past_model.onnx  input_ids, encoder_attention_mask, past_key_values.N.decoder.key and its
///                                       three kin -> logits, present.N.decoder.key and .value
///     Vit, ImageClassifier pixel_values -> last_hidden_state, pooler_output; logits
///
/// Ids and masks are [batch, length] of i64; a mask's 0 hides a token, and a query that sees none gets zeros, as here.
/// The graph computes what the model computes in evaluation mode; hooks are no part of it. Tied weights are stored
/// once. Error (config) for a layer that has no place in a graph and for adapters that are not merged, naming the
/// module, for weights that f16 does not hold, and for with_past where it has no meaning; (io).
void export_onnx(const nn::Module& model, const std::string& path, const OnnxExportOptions& options = {});
void export_onnx(const AnyModel& model, const std::string& path, const OnnxExportOptions& options = {});
/// Of a folder, adapters merged.
void export_onnx(const std::string& folder, const std::string& path, const OnnxExportOptions& options = {});

}  // namespace tape::models
