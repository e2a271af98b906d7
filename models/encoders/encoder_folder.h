#pragma once

#include "../folders/folder.h"
#include "../folders/weights.h"
#include "architectures.h"

namespace tape::models {

/// An encoder of any family, with any head, from its folder, whose configuration is of this architecture. A masked
/// language model's that holds the encoder's tensors alone, as those of sentence-transformers do, is read as the
/// encoder. Errors as load_model().
AnyModel load_encoder(const std::string& folder, const ConfigReader& config,
                      const hugging_face::EncoderArchitecture& architecture);

/// An encoder without a head, of its tensors; it has a pooler where they hold one. Errors as load_model().
std::unique_ptr<EncoderModel> encoder_alone(const std::string& file, const EncoderConfig& config,
                                            const Weights& weights);

}  // namespace tape::models
