#pragma once

#include <cstdint>
#include <string>

#include "language_model.h"
#include "recipe.h"

namespace tape::train {

/// A preset of LanguageModelOptions, selected by run.preset.
struct LanguageModelPreset {
  std::string name;
  int64_t layers = 0, width = 0, heads = 0;  ///< for a model from scratch
  int64_t context = 0, batch = 0;
  double least_lr = 0;  ///< final learning rate of the cosine, as a fraction of lr
  Recipe recipe = {};
};

/// The preset that the options name, among those from scratch, with init or with adapters. Throws Error (config) for an
/// unknown name, and for options that cannot be combined with init.
const LanguageModelPreset& language_model_preset(const LanguageModelOptions& options);

}  // namespace tape::train
