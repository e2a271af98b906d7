#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Values as few bytes: pack() appends one, unpack() takes it away from the front of what pack() made.
namespace tape {

/// A whole number, seven bits a byte, the lowest first; those around 0 in one byte: 0, -1, 1, -2, ... become 0, 1,
/// 2, 3.
inline void pack(std::string& to, int64_t value) {
  uint64_t rest = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (; rest >= 128; rest >>= 7) to += static_cast<char>(rest | 128);
  to += static_cast<char>(rest);
}
inline void unpack(std::string_view& from, int64_t& value) {
  uint64_t folded = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    folded |= static_cast<uint64_t>(byte & 127) << shift;
    if (byte < 128) break;
  }
  value = static_cast<int64_t>(folded >> 1) ^ -static_cast<int64_t>(folded & 1);
}

/// A text: its length in front of it.
inline void pack(std::string& to, const std::string& value) {
  pack(to, static_cast<int64_t>(value.size()));
  to += value;
}
inline void unpack(std::string_view& from, std::string& value) {
  int64_t size = 0;
  unpack(from, size);
  value = from.substr(0, static_cast<size_t>(size));
  from.remove_prefix(static_cast<size_t>(size));
}

/// Several: how many there are in front of them.
template <class T>
void pack(std::string& to, const std::vector<T>& values) {
  pack(to, static_cast<int64_t>(values.size()));
  for (const T& value : values) pack(to, value);
}
template <class T>
void unpack(std::string_view& from, std::vector<T>& values) {
  int64_t size = 0;
  unpack(from, size);
  values.resize(static_cast<size_t>(size));
  for (T& value : values) unpack(from, value);
}

}  // namespace tape
