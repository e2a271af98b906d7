#pragma once

#include <string>

#include "sentence_encoder.h"

namespace tape::models {

/// What the files of a sentence-transformers folder say around its encoder.
struct SentenceParts {
  std::string encoder = {};           ///< the folder of the encoder: that of the first module
  SentenceEncoderConfig config = {};  ///< all but its encoder
  nn::StateDict values = {};          ///< of the modules after the pooling: "modules.0.linear.weight"
  bool pooling_given = false;         ///< false where no file says how to pool
};

/// The activations that modules may have, by the names of torch.nn's classes.
std::span<const std::pair<const char*, nn::ActivationKind>> torch_activations();

/// The key of a Pooling's config.json that turns a mode on.
const char* pooling_key(SentencePooling mode);

/// Error (config) naming the file and the module or key that is not computed here, (format) and (io) for broken files.
SentenceParts read_sentence_parts(const std::string& folder);

}  // namespace tape::models
