#pragma once

#include <nlohmann/json_fwd.hpp>

#include "nudges.h"
#include "recording.h"

namespace tape::inspect {

/// "nudges": what was pulled at, by the nodes of the tape that the page shows, and what was cut.
nlohmann::ordered_json nudges_json(const Recording& recording, const Nudges& pulled);

}  // namespace tape::inspect
