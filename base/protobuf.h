#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tape {

// The wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding): a message is a sequence of fields,
// each with a key (field number and wire type) and a value.

struct ProtobufField {
  enum Kind { number_kind = 0, eight_bytes = 1, bytes_kind = 2, four_bytes = 5 };

  uint64_t field = 0;
  Kind kind = number_kind;
  uint64_t number = 0;     ///< the value, if kind is number_kind
  std::string_view bytes;  ///< the value otherwise: a string, a message, or a number of four or eight bytes

  bool is_number(uint64_t of) const { return field == of && kind == number_kind; }
  bool is_bytes(uint64_t of) const { return field == of && kind == bytes_kind; }
  bool is_float(uint64_t of) const { return field == of && kind == four_bytes; }
  float as_float() const;
};

/// Reads the fields of a message in order.
class ProtobufReader {
 public:
  /// Errors (format) begin with `where`. `otherwise` is their text for bytes that are not a protobuf field.
  ProtobufReader(std::string_view message, std::string where, std::string otherwise)
      : rest_(message), size_(message.size()), where_(std::move(where)), otherwise_(std::move(otherwise)) {}

  bool done() const { return rest_.empty(); }
  ProtobufField next();
  [[noreturn]] void fail(const std::string& what) const;

 private:
  uint64_t number();
  std::string_view take(uint64_t bytes);

  std::string_view rest_;
  size_t size_;
  std::string where_, otherwise_;
};

/// Builds a message, field by field.
class ProtobufWriter {
 public:
  ProtobufWriter& number(int field, int64_t value);
  ProtobufWriter& real(int field, float value);
  ProtobufWriter& text(int field, std::string_view value);
  ProtobufWriter& message(int field, const ProtobufWriter& value) { return text(field, value.bytes); }
  /// Writes the key and the length; the caller appends the bytes.
  ProtobufWriter& begin_bytes(int field, int64_t length);

  std::string bytes;

 private:
  void key(int field, ProtobufField::Kind kind);
  void varint(uint64_t value);
};

}  // namespace tape
