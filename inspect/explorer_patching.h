#pragma once

#include <nlohmann/json_fwd.hpp>

#include "patching.h"

namespace tape::inspect {

/// "patching": the outputs of the clean and of the corrupted run, what the latter reads, and the outputs of each patch.
nlohmann::ordered_json patching_json(const Patching& patching);

}  // namespace tape::inspect
