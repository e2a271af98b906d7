#pragma once

#include <optional>

#include "config_reader.h"
#include "folder.h"

namespace tape::models {

/// A Transformer that transformers has no class for, from its folder, whose config.json is `text`. Errors as
/// load_model().
AnyModel load_own_transformer(const std::string& folder, const std::string& file, const std::string& text);

/// A Transformer, Bart or T5 from its folder, whose configuration is of this architecture; nothing where that is none
/// of theirs. Errors as load_model().
std::optional<AnyModel> load_encoder_decoder(const std::string& folder, const ConfigReader& config,
                                             const std::string& architecture);

}  // namespace tape::models
