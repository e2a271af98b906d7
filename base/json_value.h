#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tape {

/// A JSON value, for what core reads and writes: headers of safetensors files and reports of gradient checks. Other
/// libraries, which read JSON of any size and shape, use nlohmann's (text/json.h).
class JsonValue {
 public:
  using Array = std::vector<JsonValue>;
  using Object = std::vector<std::pair<std::string, JsonValue>>;  ///< in the order of the text

  JsonValue() = default;  ///< null
  JsonValue(bool value) : value_(value) {}
  JsonValue(std::signed_integral auto value) : value_(int64_t{value}) {}
  JsonValue(std::unsigned_integral auto value) : value_(uint64_t{value}) {}
  JsonValue(double value) : value_(value) {}  ///< dump() writes NaN and infinity as null
  JsonValue(std::string value) : value_(std::move(value)) {}
  JsonValue(const char* value) : value_(std::string(value)) {}
  JsonValue(Array value) : value_(std::move(value)) {}
  JsonValue(Object value) : value_(std::move(value)) {}

  /// The value if it has this type, otherwise null: bool, int64_t (a negative integer of a text), uint64_t, double,
  /// std::string, Array or Object.
  template <class T>
  const T* get_if() const {
    return std::get_if<T>(&value_);
  }
  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  /// "null", "boolean", "number", "string", "array" or "object".
  const char* type_name() const;

  /// Calls `visitor` with the value, std::monostate for null.
  template <class Visitor>
  void visit(Visitor& visitor) const {
    std::visit(visitor, value_);
  }

  /// The text, on one line or with `indent` spaces per level. Invalid UTF-8 becomes U+FFFD.
  std::string dump(int indent = -1) const;

 private:
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
};

/// Called while a text is parsed; may throw.
class JsonChecks {
 public:
  virtual ~JsonChecks() = default;
  virtual void opens(size_t depth) = 0;              ///< an object or array begins inside `depth` others
  virtual void key(const std::string& name) = 0;     ///< a key of the innermost object
  virtual void closes() = 0;                         ///< an object or array ends
  [[noreturn]] virtual void invalid(size_t at) = 0;  ///< byte of the text at which it stops being JSON
  [[noreturn]] virtual void out_of_range() = 0;      ///< a number that no double can represent
};

/// Parses a text of valid UTF-8 that is one JSON value (RFC 8259). Parsing nests as deep as `checks` allows.
JsonValue parse_json_value(std::string_view text, JsonChecks& checks);

}  // namespace tape
