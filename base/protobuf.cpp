#include "base/protobuf.h"

#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace tape {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and values are copied as they are");

float ProtobufField::as_float() const {
  float value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

void ProtobufReader::fail(const std::string& what) const {
  raise(ErrorKind::format, "{}: {} (byte {})", where_, what, size_ - rest_.size());
}

ProtobufField ProtobufReader::next() {
  const uint64_t key = number();
  ProtobufField field{.field = key >> 3, .kind = static_cast<ProtobufField::Kind>(key & 7), .bytes = {}};
  if (field.field == 0) fail(otherwise_);
  switch (field.kind) {
    case ProtobufField::number_kind:
      field.number = number();
      return field;
    case ProtobufField::eight_bytes:
      field.bytes = take(8);
      return field;
    case ProtobufField::bytes_kind:
      field.bytes = take(number());
      return field;
    case ProtobufField::four_bytes:
      field.bytes = take(4);
      return field;
  }
  fail(otherwise_);
}

uint64_t ProtobufReader::number() {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
  fail("a varint does not end");
}

std::string_view ProtobufReader::take(uint64_t count) {
  if (count > rest_.size()) fail(fmt::format("needs {} bytes, has {}", count, rest_.size()));
  const std::string_view taken = rest_.substr(0, count);
  rest_.remove_prefix(count);
  return taken;
}

ProtobufWriter& ProtobufWriter::number(int field, int64_t value) {
  key(field, ProtobufField::number_kind);
  varint(static_cast<uint64_t>(value));
  return *this;
}

ProtobufWriter& ProtobufWriter::real(int field, float value) {
  key(field, ProtobufField::four_bytes);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return *this;
}

ProtobufWriter& ProtobufWriter::text(int field, std::string_view value) {
  begin_bytes(field, std::ssize(value));
  bytes += value;
  return *this;
}

ProtobufWriter& ProtobufWriter::begin_bytes(int field, int64_t length) {
  key(field, ProtobufField::bytes_kind);
  varint(static_cast<uint64_t>(length));
  return *this;
}

void ProtobufWriter::key(int field, ProtobufField::Kind kind) { varint(static_cast<uint64_t>(field << 3 | kind)); }

void ProtobufWriter::varint(uint64_t value) {
  for (; value > 127; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

}  // namespace tape
