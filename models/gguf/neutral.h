#pragma once

#include "entries.h"

namespace tape::models::gguf {

/// Passes keys behind an architecture's name ("llama.") whose values change nothing that is computed: no experts, no
/// soft caps, scales of 1, windows as long as the context, and what llama.cpp does not read of these architectures.
void pass_neutral(const GgufEntries& entries, const std::string& prefix, int64_t context, int64_t head_width);

}  // namespace tape::models::gguf
