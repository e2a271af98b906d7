#pragma once

#include <string>

#include "checkpoint.h"

namespace tape::train {

/// The text of trainer_state.json. Numbers are written without loss; non-finite ones become null.
std::string to_json(const TrainerState& state);
/// Parses it; `where` names the file in errors. Throws Error (format) naming a key that is missing, unknown or of
/// another type.
TrainerState trainer_state_from(const std::string& text, const std::string& where);

}  // namespace tape::train
