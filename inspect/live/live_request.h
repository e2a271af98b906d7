#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace tape::inspect {

/// A JSON object of a request to a LiveEngine. The object must outlive this. Members of another type, and required ones
/// that are missing, are an Error (config) with their path: `edits[0].head: expected an integer, got "1"`.
class LiveRequest {
 public:
  /// `path` precedes the names of members in errors: "" or "edits[0].".
  LiveRequest(const nlohmann::ordered_json& object, std::string path);

  bool has(const char* name) const;
  std::string text(const char* name) const;
  int64_t integer(const char* name) const;
  double number(const char* name) const;
  std::vector<int64_t> integers(const char* name) const;
  /// The elements of a list of objects; empty if the member is missing.
  std::vector<LiveRequest> objects(const char* name) const;
  std::optional<int64_t> optional_integer(const char* name) const;
  /// "edits[0].head"
  std::string path_of(const char* name) const;

 private:
  const nlohmann::ordered_json& member(const char* name) const;
  [[noreturn]] void wrong(const std::string& path, const char* expected, const nlohmann::ordered_json& found) const;

  const nlohmann::ordered_json* object_;
  std::string path_;
};

}  // namespace tape::inspect
