#pragma once

#include "../layout.h"
#include "../transformer.h"
#include "common.h"

/// The encoder-decoder models of transformers.
namespace tape::models::hugging_face {

/// Whether MarianMTModel computes what such a Transformer computes: norms behind, with eps 1e-5, and positions in
/// halves.
bool is_marian(const TransformerConfig& config);

/// Whether M2M100ForConditionalGeneration does: norms in front, with eps 1e-5, fairseq's positions from padding_id + 1
/// on, one table for everything and no output bias.
bool is_m2m100(const TransformerConfig& config);

TransformerConfig read_marian_config(const ConfigReader& config);
TransformerConfig read_m2m100_config(const ConfigReader& config);
/// Of the class that computes it.
nlohmann::ordered_json config_json(const Transformer& model, DType dtype);
/// The tensors of both classes' files, which have the same names.
Layout marian_layout(const TransformerConfig& config);

}  // namespace tape::models::hugging_face
