#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../nn/activation.h"

namespace tape::models {

/// Reads the keys of a config.json strictly: nlohmann's own conversions silently turn 1.9 into 1 and 1e300 into 0.
/// Throws Error (config) naming the file, the key, the expected form and the value found.
class ConfigReader {
 public:
  /// Throws Error (format) for a text that is not a JSON object, is nested too deeply or repeats a key; `where` names
  /// the file.
  ConfigReader(const std::string& text, std::string where);

  /// Whether the key is present and not null.
  bool has(const char* key) const;
  /// Whether the key is present, possibly null.
  bool contains(const char* key) const { return json_.contains(key); }
  int64_t whole(const char* key, std::optional<int64_t> otherwise = {}) const;
  double number(const char* key, std::optional<double> otherwise = {}) const;
  bool flag(const char* key, std::optional<bool> otherwise = {}) const;
  std::string text(const char* key, std::optional<std::string> otherwise = {}) const;
  /// Names in a JSON list or, as in "id2label", in an object with keys "0", "1", ...
  std::vector<std::string> names(const char* key) const;
  /// Integers in a list, or a single one.
  std::vector<int64_t> integers(const char* key) const;
  /// An integer, or the first one of a list.
  int64_t first_whole(const char* key, int64_t otherwise) const;
  /// The object of a key, which must be present; errors of the reader returned name the key too.
  ConfigReader object(const char* key) const;
  /// The same file with other names of some keys, as pairs {their name, the name that is read} (transformers'
  /// attribute_map). If a file has both, the first decides, as in transformers.
  ConfigReader renamed(std::initializer_list<std::pair<const char*, const char*>> names) const;

  /// Throws Error (config) for a value that requests an unsupported computation.
  void require_flag(const char* key, bool value, bool otherwise) const;
  [[noreturn]] void wrong(const char* key, const std::string& needed) const;

  const nlohmann::ordered_json& json() const { return json_; }
  const std::string& where() const { return where_; }

 private:
  ConfigReader(nlohmann::ordered_json json, std::string where);
  /// Null if the key is missing or null and has a default; throws an Error if it has none.
  const nlohmann::ordered_json* find(const char* key, bool optional) const;
  /// The key's value as an integer.
  int64_t whole(const char* key, const nlohmann::ordered_json& value, const char* needed) const;

  nlohmann::ordered_json json_;
  std::string where_;
};

}  // namespace tape::models
