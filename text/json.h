#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tape {

/// Parses a JSON object and keeps the order of its keys. Throws Error (format) `where: ...` for invalid JSON, a value
/// that is not an object, a duplicate key, or nesting deeper than `max_depth`.
///
/// Callers must check numbers themselves: nlohmann's conversions turn 1.9 into 1 and 1e300 into 0.
nlohmann::ordered_json parse_json(const std::string& text, const std::string& where, int max_depth = 8);

/// Same, with sorted keys: for objects with many keys, since lookups in the ordered type are linear.
nlohmann::json parse_large_json(const std::string& text, const std::string& where, int max_depth = 8);

/// Makes room for `count` members of an object. nlohmann's ordered_json keeps them in a vector of pairs with constant
/// keys, which copies all of them, with everything they contain, whenever it grows.
void reserve_members(nlohmann::ordered_json& object, size_t count);

/// Serializes to a single line, or indented if `indent` is given. Invalid UTF-8 becomes U+FFFD.
std::string dump_json(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace tape
