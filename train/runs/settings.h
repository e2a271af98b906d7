#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../distributed/communicator.h"

namespace tape::train {

// The settings of a run are what its bits depend on besides the machine: a JSON object with a value for each option and
// an object for each file that is learned from. Every checkpoint holds them.

/// How settings hold a file: {"file": its absolute path, "bytes": n, "xxh3_64": 16 hexadecimal digits}; null for the
/// path "". Error (io).
nlohmann::ordered_json file_setting(const std::string& path);
/// The same of a file that the first of several ranks alone reads, unless another one names another path: it reads that
/// one itself, so that the ranks' settings tell whether the data is the same.
nlohmann::ordered_json file_setting(const std::string& path, Communicator& ranks);

/// What differs between the settings of a saved run and those of now, or of two ranks: `seed 1 then, 2 now` each. A
/// file is the same wherever it lies while its bytes are; what is missing counts as null. Error (format) for what is no
/// JSON object.
std::vector<std::string> differing_settings(const std::string& then, const std::string& now,
                                            const std::string& then_is = "then", const std::string& now_is = "now");

}  // namespace tape::train
