#pragma once

#include <string>

#include "token_table.h"

namespace tape::text {

/// Reads a vocab.json, {"token": id, ...}. Error (format) naming file and token for an id that is no whole number.
TokenTable::Entries read_vocabulary_json(const std::string& path);

/// The model's own tokens of a table as such a text, in the order of their ids.
std::string vocabulary_json(const TokenTable& table);

}  // namespace tape::text
