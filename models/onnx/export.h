#pragma once

#include <string>

#include "../folders/folder.h"

namespace tape::models {

/// Options of export_onnx().
struct OnnxExportOptions {
  /// Storage dtype of matrices and tables: f32, f16 or bf16. Vectors stay f32, and computation is always in f32.
  DType stored = f32;
  /// For a decoder-only model: a graph of the next ids, with the earlier keys and values as inputs and outputs. For an
  /// encoder-decoder model: the folder `path` with three graphs, as in optimum. The decoder file for a target's first
  /// ids reads the memory; the one for the next ids takes and returns keys and values.
  bool with_past = false;
  /// Larger files store their tensors in `path` + "_data" (OnnxSaveOptions).
  int64_t max_inline_bytes = 2'000'000'000;
};

/// Writes a model as an ONNX graph (opset 17) for onnxruntime and compatible tools. Inputs and outputs are optimum's,
/// for any batch size and any length up to the size of the position table, if any:
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
///                                       three siblings -> logits, present.N.decoder.key and .value
///     Vit, ImageClassifier pixel_values -> last_hidden_state, pooler_output; logits
///
/// Ids and masks are i64 [batch, length]; a mask value of 0 hides a token, and a query that sees none gets zeros, as in
/// Tapeformer. The graph computes the model in evaluation mode without hooks. Tied weights are stored once. Throws
/// Error (config), naming the module, for a layer that cannot be exported and for unmerged adapters; (config) for
/// weights that overflow f16 and for with_past where it does not apply; (io).
void export_onnx(const nn::Module& model, const std::string& path, const OnnxExportOptions& options = {});
/// Same for a model of any kind.
void export_onnx(const AnyModel& model, const std::string& path, const OnnxExportOptions& options = {});
/// The same for a folder's model, with merged adapters.
void export_onnx(const std::string& folder, const std::string& path, const OnnxExportOptions& options = {});

}  // namespace tape::models
