#pragma once

#include <cstring>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"

// Parses the output of tensor_json().

namespace tape::inspect {

using Json = nlohmann::ordered_json;

inline std::vector<unsigned char> from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned char> bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(digits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<unsigned char>(bits >> count & 255));
    }
  }
  return bytes;
}

/// The stored part: the whole tensor or its leading elements. Undefined for null.
inline Tensor tensor_of(const Json& json) {
  if (json.is_null()) return {};
  const Shape shape((json.contains("cut") ? json["cut"] : json["shape"]).get<std::vector<int64_t>>());
  const std::vector<unsigned char> bytes = from_base64(json["data"].get<std::string>());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return reshape(from_vector(values, {std::ssize(values)}), shape);
}

inline Shape shape_of(const Json& json) { return Shape(json["shape"].get<std::vector<int64_t>>()); }

}  // namespace tape::inspect
