#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tape::text {

/// A JSON value with its path, for strict reading: every mistake is an Error (format) `file: a.b[2]: ...`.
class JsonEntry {
 public:
  JsonEntry(const nlohmann::json& value, std::string where) : value_(&value), where_(std::move(where)) {}

  const nlohmann::json& value() const { return *value_; }
  const std::string& where() const { return where_; }
  bool is_null() const;

  /// Whether the object has the key with a value other than null.
  bool has(const std::string& key) const;
  JsonEntry at(const std::string& key) const;
  std::vector<JsonEntry> items() const;
  /// All elements of a list, or one of them: for lists so long that building the paths of all takes noticeable time.
  size_t size() const;
  JsonEntry item(size_t i) const;

  std::string text() const;
  bool flag() const;
  int64_t integer() const;
  double number() const;

  std::string text(const std::string& key, const std::string& otherwise) const;
  bool flag(const std::string& key, bool otherwise) const;
  int64_t integer(const std::string& key, int64_t otherwise) const;

  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void needs(const char* what) const;

 private:
  const nlohmann::json* value_;
  std::string where_;
};

}  // namespace tape::text
