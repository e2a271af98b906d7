#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// Returns a page's data with each repeated tensor "data" string stored once in "shared" and replaced by its index
/// there. A gradient that is passed on unchanged occurs many times.
nlohmann::ordered_json share_repeated_data(nlohmann::ordered_json data);

}  // namespace tape::inspect
