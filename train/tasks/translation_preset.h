#pragma once

#include <cstdint>
#include <string>

#include "../../nn/transformer/transformer_layer.h"
#include "recipe.h"
#include "translation.h"

namespace tape::train {

/// What a name of TranslationOptions::run.preset stands for.
struct TranslationPreset {
  std::string name;
  int64_t layers, d_model, heads, d_ff;  ///< of a model from nothing
  nn::NormPlace norm;
  int64_t vocab_size, batch_tokens;
  Recipe recipe;
};

/// The preset that the options name, of those for a model from nothing or with init. Error (config) for a name that is
/// none of them, and for options that do not go with init.
const TranslationPreset& translation_preset(const TranslationOptions& options);

}  // namespace tape::train
