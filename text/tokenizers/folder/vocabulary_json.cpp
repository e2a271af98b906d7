#include "text/tokenizers/folder/vocabulary_json.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/utf8.h"
#include "text/json.h"
#include "text/tokenizers/steps/json_entry.h"

namespace tape::text {

TokenTable::Entries read_vocabulary_json(const std::string& path) {
  const nlohmann::json json = parse_large_json(read_text(path), path, 1);
  TokenTable::Entries out;
  out.reserve(json.size());
  for (const auto& [token, id] : json.items()) {
    if (!id.is_number_integer()) JsonEntry(id, fmt::format("{}: \"{}\"", path, clipped(token, 40))).needs("an integer");
    out.emplace_back(token, JsonEntry(id, path).integer());
  }
  return out;
}

// Serialized entry by entry, as an ordered object would search all its keys for each new one.
std::string vocabulary_json(const TokenTable& table) {
  std::string out = "{";
  for (int64_t id = 0; id < table.size(); ++id) {
    if (!table.in_model(id)) continue;
    if (out.size() > 1) out += ',';
    out += fmt::format("\n{}: {}", nlohmann::json(table.token(id)).dump(), id);
  }
  out += "\n}\n";
  return out;
}

}  // namespace tape::text
