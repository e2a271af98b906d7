#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "../../nn/activation.h"

namespace tape::models {

/// Reads the keys of a config.json strictly: nlohmann's own conversions turn 1.9 into 1 and 1e300 into 0 without a
/// word. Errors are Error (config) naming the file, the key, what is needed and what stands there.
class ConfigReader {
 public:
  /// Error (format) for a text that is no JSON object, nests deeply or repeats a key; `where` names the file.
  ConfigReader(const std::string& text, std::string where);

  /// Whether the key is there and not null.
  bool has(const char* key) const;
  /// Whether the key is there, be it null.
  bool contains(const char* key) const { return json_.contains(key); }
  int64_t whole(const char* key, std::optional<int64_t> otherwise = {}) const;
  double number(const char* key, std::optional<double> otherwise = {}) const;
  bool flag(const char* key, std::optional<bool> otherwise = {}) const;
  std::string text(const char* key, std::optional<std::string> otherwise = {}) const;
  /// The names in a JSON list or, as in "id2label", an object from "0", "1", ... to names.
  std::vector<std::string> names(const char* key) const;
  /// The numbers in a list, or the one in its place.
  std::vector<int64_t> integer_ops(const char* key) const;
  /// The object behind a key that is there, whose errors name it too.
  ConfigReader object(const char* key) const;

  /// Refuses a value that this library does not compute: Error (config).
  void require_flag(const char* key, bool value, bool otherwise) const;
  [[noreturn]] void wrong(const char* key, const std::string& needed) const;

  const nlohmann::ordered_json& json() const { return json_; }
  const std::string& where() const { return where_; }

 private:
  ConfigReader(nlohmann::ordered_json json, std::string where);
  /// Null where the key is missing or null, and there is another value; an Error where there is none.
  const nlohmann::ordered_json* find(const char* key, bool optional) const;
  /// Any value of the key as a whole number.
  int64_t whole(const char* key, const nlohmann::ordered_json& value, const char* needed) const;

  nlohmann::ordered_json json_;
  std::string where_;
};

}  // namespace tape::models
