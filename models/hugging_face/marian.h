#pragma once

#include "models/hugging_face/common.h"
#include "models/layout.h"
#include "models/transformer.h"

/// MarianMTModel of transformers.
namespace tape::models::hugging_face {

/// Whether MarianMTModel computes what such a Transformer computes: norms behind, with eps 1e-5, and positions in
/// halves.
bool is_marian(const TransformerConfig& config);

TransformerConfig read_transformer_config(const ConfigReader& config);
nlohmann::ordered_json config_json(const Transformer& model, DType dtype);
Layout marian_layout(const TransformerConfig& config);

}  // namespace tape::models::hugging_face
