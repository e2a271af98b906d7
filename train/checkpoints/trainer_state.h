#pragma once

#include <string>

#include "checkpoint.h"

namespace tape::train {

/// The text of trainer_state.json. Numbers keep all their bits; those that are not finite become null.
std::string to_json(const TrainerState& state);
/// Back; `where` names the file in errors. Error (format) naming the key that is missing, unknown or of another type.
TrainerState trainer_state_from(const std::string& text, const std::string& where);

}  // namespace tape::train
