#pragma once

#include "../folders/folder.h"
#include "../folders/weights.h"
#include "architectures.h"

namespace tape::models {

/// Loads an encoder of any family, with any head, from a folder whose configuration is of this architecture. A masked
/// language model's folder that has only the encoder's tensors, as in sentence-transformers, is loaded as the encoder.
/// Throws the errors of load_model().
AnyModel load_encoder(const std::string& folder, const ConfigReader& config,
                      const hugging_face::EncoderArchitecture& architecture);

/// Makes an encoder without a head from its tensors, with a pooler if they include one. Throws the errors of
/// load_model().
std::unique_ptr<EncoderModel> make_headless_encoder(const std::string& file, const EncoderConfig& config,
                                                    const Weights& weights);

}  // namespace tape::models
