#pragma once

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// The data of a page with each tensor's "data" that stands there more than once written once, into "shared", and its
/// place there in its stead: a gradient that is passed on is the same many times over.
nlohmann::ordered_json with_shared_data(nlohmann::ordered_json data);

}  // namespace tape::inspect
