#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tape {

/// The object that a JSON text holds, its keys in their order. Error (format) `where: ...` for text that is no JSON,
/// holds something else than an object, repeats a key of an object, or nests deeper than `max_depth`.
///
/// Reading numbers from it is the caller's care: nlohmann's own conversions turn 1.9 into 1 and 1e300 into 0.
nlohmann::ordered_json parse_json(const std::string& text, const std::string& where, int max_depth = 8);

/// The same with keys in alphabetical order: for objects with many keys, which the ordered kind searches one by one.
nlohmann::json parse_large_json(const std::string& text, const std::string& where, int max_depth = 8);

/// As a text, on one line unless there is an indentation; bytes that are no UTF-8 become U+FFFD.
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace tape
