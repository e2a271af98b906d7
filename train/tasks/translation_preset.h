#pragma once

#include <cstdint>
#include <string>

#include "../../nn/transformer/transformer_layer.h"
#include "recipe.h"
#include "translation.h"

namespace tape::train {

/// A preset of TranslationOptions, selected by run.preset.
struct TranslationPreset {
  std::string name;
  int64_t layers, d_model, heads, d_ff;  ///< for a model from scratch
  nn::NormPlace norm;
  int64_t vocab_size, batch_tokens;
  Recipe recipe;
};

/// The preset that the options name, among those from scratch or with init. Throws Error (config) for an unknown name,
/// and for options that cannot be combined with init.
const TranslationPreset& translation_preset(const TranslationOptions& options);

}  // namespace tape::train
