#pragma once

#include <optional>

#include "config_reader.h"
#include "folder.h"

namespace tape::models {

/// A Gpt, Llama or GptNeoX from its folder, whose configuration is of this architecture; nothing where that is none of
/// theirs. generation_config.json has its ends. Errors as load_model().
std::optional<AnyModel> load_decoder(const std::string& folder, const ConfigReader& config,
                                     const std::string& architecture);

}  // namespace tape::models
