#pragma once

#include <string>

#include "../token_table.h"

namespace tape::text {

/// Reads a vocab.json, {"token": id, ...}. Throws Error (format) with file and token for an id that is not an integer.
TokenTable::Entries read_vocabulary_json(const std::string& path);

/// Serializes the model's own tokens of a table in that format, in order of ids.
std::string vocabulary_json(const TokenTable& table);

}  // namespace tape::text
