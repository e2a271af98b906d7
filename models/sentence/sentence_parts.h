#pragma once

#include <string>

#include "sentence_encoder.h"

namespace tape::models {

/// The settings in a sentence-transformers folder other than the encoder.
struct SentenceParts {
  std::string encoder = {};           ///< folder of the encoder, which is the first module
  SentenceEncoderConfig config = {};  ///< without its encoder
  nn::StateDict values = {};          ///< of the modules after the pooling: "modules.0.linear.weight"
  bool pooling_given = false;         ///< whether a file sets the pooling
};

/// Supported activations of modules, by the names of torch.nn's classes.
std::span<const std::pair<const char*, nn::ActivationKind>> torch_activations();

/// The key of a Pooling's config.json that enables a mode.
const char* pooling_key(SentencePooling mode);

/// Throws Error (config) naming the file and an unsupported module or key, (format) and (io) for invalid files.
SentenceParts read_sentence_parts(const std::string& folder);

}  // namespace tape::models
