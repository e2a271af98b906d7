#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// A compact binary encoding: append_packed() appends a value, take_packed() removes the first one.
namespace tape {

/// An integer in zigzag varint encoding, 7 bits per byte, low bits first: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
inline void append_packed(std::string& to, int64_t value) {
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (; rest >= 128; rest >>= 7) to += static_cast<char>(rest | 128);
  to += static_cast<char>(rest);
}
inline void take_packed(std::string_view& from, int64_t& value) {
  uint64_t folded = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    folded |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) break;
  }
  value = static_cast<int64_t>(folded >> 1) ^ -static_cast<int64_t>(folded & 1);
}

/// A string after its length.
inline void append_packed(std::string& to, const std::string& value) {
  append_packed(to, static_cast<int64_t>(value.size()));
  to += value;
}
inline void take_packed(std::string_view& from, std::string& value) {
  int64_t size = 0;
  take_packed(from, size);
  value = from.substr(0, static_cast<size_t>(size));
  from.remove_prefix(static_cast<size_t>(size));
}

/// A vector after its size.
template <class T>
void append_packed(std::string& to, const std::vector<T>& values) {
  append_packed(to, static_cast<int64_t>(values.size()));
  for (const T& value : values) append_packed(to, value);
}
template <class T>
void take_packed(std::string_view& from, std::vector<T>& values) {
  int64_t size = 0;
  take_packed(from, size);
  values.resize(static_cast<size_t>(size));
  for (T& value : values) take_packed(from, value);
}

}  // namespace tape
