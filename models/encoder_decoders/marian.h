#pragma once

#include "../folders/config_keys.h"
#include "../folders/layout.h"
#include "transformer.h"

/// The encoder-decoder models of transformers.
namespace tape::models::hugging_face {

/// The tensors of both classes' files, which have the same names.
Layout marian_layout(const TransformerConfig& config);

}  // namespace tape::models::hugging_face
