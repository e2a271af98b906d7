#pragma once

#include <cstdint>
#include <string>

#include "language_model.h"
#include "recipe.h"

namespace tape::train {

/// What a name of LanguageModelOptions::run.preset stands for.
struct LanguageModelPreset {
  std::string name;
  int64_t layers = 0, width = 0, heads = 0;  ///< of a model from nothing
  int64_t context = 0, batch = 0;
  double least_lr = 0;  ///< of the cosine, as a part of lr
  Recipe recipe = {};
};

/// The preset that the options name, of those for a model from nothing, with init or with adapters. Error (config) for
/// a name that is none of them, and for options that do not go with init.
const LanguageModelPreset& language_model_preset(const LanguageModelOptions& options);

}  // namespace tape::train
