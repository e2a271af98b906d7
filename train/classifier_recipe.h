#pragma once

#include <string>

#include "recipe.h"

namespace tape::train {

/// What a name of a preset stands for, where a head on an encoder is trained: ClassificationOptions and
/// TokenLabelOptions, the Options of what follows. `task` is named in Errors: "train classifier".
struct ClassifierPreset {
  std::string name;
  double epochs = 0;
  int64_t batch = 0, max_length = 0;
  int64_t vocab_size = 0, layers = 0, width = 0, heads = 0;  ///< of a model from scratch
  Recipe recipe = {};                                        ///< without its length
};

/// The preset that the options name, of those for a model from scratch or of those with init. Error (config) for a name
/// that is none of them, and for options that are out of range or do not go together.
template <class Options>
const ClassifierPreset& classifier_preset(const char* task, const Options& options);

/// The recipe of a run with so many batches an epoch; a folder that the model begins with gives its dropout.
Recipe classifier_recipe(const ClassifierPreset& preset, const TaskOptions& options, int64_t batches,
                         std::optional<double> dropout);

}  // namespace tape::train
