#include "models/gguf/blocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/half.h"

namespace tape::detail {
namespace {

static_assert(std::endian::native == std::endian::little, "values are copied without byte swapping");

constexpr int64_t kBlock = 32;

template <class T>
void put(char*& to, T value) {
  std::memcpy(to, &value, sizeof value);
  to += sizeof value;
}

template <class T>
T take(const char*& from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  from += sizeof value;
  return value;
}

/// x = d q, d = max |x| / 127 stored as f16; q is rounded using the unrounded d.
void put_q8_0(char*& to, const float* x) {
  float largest = 0;
  for (int64_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::abs(x[i]));
  const float d = largest / 127, inverse = d == 0 ? 0 : 1 / d;
  put(to, half_bits(d));
  for (int64_t i = 0; i < kBlock; ++i) put(to, static_cast<int8_t>(std::round(x[i] * inverse)));
}

void take_q8_0(const char*& from, float* x) {
  const float d = half_value(take<uint16_t>(from));
  for (int64_t i = 0; i < kBlock; ++i) x[i] = d * static_cast<float>(take<int8_t>(from));
}

/// x = d (q - 8), 0 <= q < 16, where d = (the value of largest magnitude) / -8, which makes that value exact. q of x[i]
/// and x[i + 16] share a byte.
void put_q4_0(char*& to, const float* x) {
  const float largest = *std::max_element(x, x + kBlock, [](float a, float b) { return std::abs(a) < std::abs(b); });
  const float d = largest / -8, inverse = d == 0 ? 0 : 1 / d;
  put(to, half_bits(d));
  const auto rounded = [inverse](float value) {
    return static_cast<uint8_t>(std::min(15, static_cast<int>(value * inverse + 8.5f)));
  };
  for (int64_t i = 0; i < kBlock / 2; ++i)
    put(to, static_cast<uint8_t>(rounded(x[i]) | rounded(x[i + kBlock / 2]) << 4));
}

void take_q4_0(const char*& from, float* x) {
  const float d = half_value(take<uint16_t>(from));
  for (int64_t i = 0; i < kBlock / 2; ++i) {
    const auto both = take<uint8_t>(from);
    x[i] = d * static_cast<float>((both & 15) - 8);
    x[i + kBlock / 2] = d * static_cast<float>((both >> 4) - 8);
  }
}

}  // namespace

GgufBlock block_of(GgufType type) {
  switch (type) {
    case GgufType::F32:
      return {1, 4};
    case GgufType::F16:
    case GgufType::BF16:
      return {1, 2};
    case GgufType::Q8_0:
      return {kBlock, 2 + kBlock};
    default:
      return {kBlock, 2 + kBlock / 2};
  }
}

std::string to_blocks(const float* values, int64_t count, GgufType type) {
  const GgufBlock block = block_of(type);
  std::string bytes(static_cast<size_t>(count / block.values * block.bytes), '\0');
  char* to = bytes.data();
  for (int64_t i = 0; i < count; i += block.values) {
    if (type == GgufType::F32) put(to, values[i]);
    if (type == GgufType::F16) put(to, half_bits(values[i]));
    if (type == GgufType::BF16) put(to, bfloat16_bits(values[i]));
    if (type == GgufType::Q8_0) put_q8_0(to, values + i);
    if (type == GgufType::Q4_0) put_q4_0(to, values + i);
  }
  return bytes;
}

void from_blocks(const char* bytes, int64_t count, GgufType type, float* values) {
  const GgufBlock block = block_of(type);
  for (int64_t i = 0; i < count; i += block.values) {
    if (type == GgufType::F32) values[i] = take<float>(bytes);
    if (type == GgufType::F16) values[i] = half_value(take<uint16_t>(bytes));
    if (type == GgufType::BF16) values[i] = bfloat16_value(take<uint16_t>(bytes));
    if (type == GgufType::Q8_0) take_q8_0(bytes, values + i);
    if (type == GgufType::Q4_0) take_q4_0(bytes, values + i);
  }
}

}  // namespace tape::detail
