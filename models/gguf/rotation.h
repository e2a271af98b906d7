#pragma once

#include "../decoders/llama.h"
#include "entries.h"

namespace tape::models::gguf {

/// What Llama 3's frequencies are divided by, [D/2]: what GGUF keeps of its scaling.
Tensor divisors_of(const LlamaConfig& config);

/// The scaling of the rotation: linear and YaRN by name, Llama 3's by its `divisors`, undefined where the file has
/// none. Error (config) naming file and key for another one.
nn::RotaryScaling read_scaling(const GgufEntries& entries, const std::string& prefix, const LlamaConfig& config,
                               const Tensor& divisors);

}  // namespace tape::models::gguf
