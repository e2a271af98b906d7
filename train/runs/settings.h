#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "../distributed/communicator.h"

namespace tape::train {

// The settings of a run are what its bits depend on besides the machine: a JSON object with a value per option and an
// object per training file. Every checkpoint stores them.

/// A file in settings: {"file": its absolute path, "bytes": n, "xxh3_64": 16 hexadecimal digits}; null for the path "".
/// Throws Error (io).
nlohmann::ordered_json file_setting(const std::string& path);
/// The same for files that belong together, as if they were one: with the path of the first.
nlohmann::ordered_json files_setting(const std::vector<std::string>& paths);
/// file_setting() of a file that only rank 0 reads. A rank whose path differs reads its own, so that comparing the
/// ranks' settings shows whether their data is the same.
nlohmann::ordered_json file_setting(const std::string& path, Communicator& ranks);

/// Differences between the settings of a saved run and the current ones, or of two ranks, as `seed 1 then, 2 now`.
/// Files are equal if their bytes are, wherever they are; a missing setting counts as null. Throws Error (format) if a
/// text is not a JSON object.
std::vector<std::string> differing_settings(const std::string& then, const std::string& now,
                                            const std::string& then_is = "then", const std::string& now_is = "now");

}  // namespace tape::train
