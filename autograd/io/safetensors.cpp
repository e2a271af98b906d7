#include "autograd/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/io/safetensors_header.h"
#include "base/file.h"

namespace tape {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and values are copied as they are");

using detail::StoredTensor;
using detail::StoredType;
using nlohmann::json;

constexpr int64_t kMaxHeader = 100'000'000;

const char* stored_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "F32";
    case DType::f64:
      return "F64";
    case DType::i64:
      return "I64";
    case DType::boolean:
      break;
  }
  return "BOOL";
}

/// IEEE 754 half precision: 1 sign, 5 exponent and 10 fraction bits.
float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (magnitude & 0x3FF) << 13);
  // 2^112 makes up for the difference of the exponents' bias, subnormal numbers included.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

/// The upper half of an f32.
float from_bfloat(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

template <class Stored, class T, class F>
Tensor read_converted(const InputFile& file, int64_t position, const Shape& shape, F&& convert) {
  std::vector<Stored> stored(static_cast<size_t>(shape.numel()));
  file.read(position, stored.data(), shape.numel() * static_cast<int64_t>(sizeof(Stored)));
  Tensor tensor = empty(shape, dtype_of<T>);
  std::transform(stored.begin(), stored.end(), tensor.mutable_data<T>(), convert);
  return tensor;
}

Tensor read_plain(const InputFile& file, int64_t position, const Shape& shape, DType dtype) {
  Tensor tensor = empty(shape, dtype);
  file.read(position, tensor.raw(), shape.numel() * size_of(dtype));
  return tensor;
}

Tensor read_tensor(const InputFile& file, int64_t position, const StoredTensor& stored) {
  const auto widen = [](auto value) { return static_cast<int64_t>(value); };
  switch (stored.type) {
    case StoredType::f64:
      return read_plain(file, position, stored.shape, f64);
    case StoredType::f32:
      return read_plain(file, position, stored.shape, f32);
    case StoredType::i64:
      return read_plain(file, position, stored.shape, i64);
    case StoredType::f16:
      return read_converted<uint16_t, float>(file, position, stored.shape, from_half);
    case StoredType::bf16:
      return read_converted<uint16_t, float>(file, position, stored.shape, from_bfloat);
    case StoredType::i32:
      return read_converted<int32_t, int64_t>(file, position, stored.shape, widen);
    case StoredType::u8:
      return read_converted<uint8_t, int64_t>(file, position, stored.shape, widen);
    case StoredType::boolean:
      break;
  }
  // A bool that is neither 0 nor 1 is undefined behaviour: it must not get into a tensor.
  return read_converted<uint8_t, bool>(file, position, stored.shape, [&](uint8_t value) {
    if (value > 1)
      raise(ErrorKind::format, "{}: tensor \"{}\": a BOOL must be 0 or 1, found {}", file.path(), stored.name, value);
    return value == 1;
  });
}

/// Tensors in the order of their data: larger elements first, so that each is aligned, then by name.
std::vector<std::pair<std::string, Tensor>> in_data_order(const std::map<std::string, Tensor>& tensors) {
  std::vector<std::pair<std::string, Tensor>> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return size_of(a.second.dtype()) > size_of(b.second.dtype()); });
  return ordered;
}

void check_to_save(const std::string& path, const std::map<std::string, Tensor>& tensors) {
  for (const auto& [name, tensor] : tensors) {
    if (name == "__metadata__") raise(ErrorKind::config, "{}: a tensor cannot be called \"__metadata__\"", path);
    if (!tensor.defined()) raise(ErrorKind::config, "{}: tensor \"{}\" is undefined", path, name);
  }
}

/// The header with its length in front, filled up with spaces to a multiple of 8.
std::string make_header(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& ordered,
                        const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t position = 0;
  for (const auto& [name, tensor] : ordered) {
    const int64_t end = position + tensor.numel() * size_of(tensor.dtype());
    header[name] = {{"dtype", stored_name(tensor.dtype())},
                    {"shape", tensor.shape().to_vector()},
                    {"data_offsets", {position, end}}};
    position = end;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::type_error&) {
    raise(ErrorKind::config, "{}: a tensor's name or a value of the metadata is not UTF-8", path);
  }
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  std::string prefix(sizeof length, '\0');
  std::memcpy(prefix.data(), &length, sizeof length);
  return prefix + text;
}

}  // namespace

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  check_to_save(path, tensors);
  const auto ordered = in_data_order(tensors);
  const std::string header = make_header(path, ordered, metadata);
  std::vector<std::string_view> parts{header};
  for (const auto& [name, tensor] : ordered)
    parts.emplace_back(static_cast<const char*>(tensor.raw()),
                       static_cast<size_t>(tensor.numel() * size_of(tensor.dtype())));
  write_file(path, parts);
}

void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::map<std::string, Tensor> by_name;
  for (const auto& [name, tensor] : tensors)
    if (!by_name.emplace(name, tensor).second)
      raise(ErrorKind::config, "{}: two tensors are called \"{}\"", path, name);
  save_safetensors(path, by_name, metadata);
}

SafetensorsFile load_safetensors(const std::string& path) {
  const InputFile file(path);
  if (file.size() < 8) raise(ErrorKind::format, "{}: header too small ({} bytes)", path, file.size());
  uint64_t length = 0;
  file.read(0, &length, 8);
  if (length == 0 || length > static_cast<uint64_t>(std::min(kMaxHeader, file.size() - 8)))
    raise(ErrorKind::format, "{}: header length {}, file has {}", path, length, file.size());
  std::string text(static_cast<size_t>(length), '\0');
  file.read(8, text.data(), static_cast<int64_t>(length));
  const int64_t start = 8 + static_cast<int64_t>(length);
  detail::SafetensorsHeader header = detail::parse_safetensors_header(path, text, file.size() - start);
  SafetensorsFile result;
  result.metadata = std::move(header.metadata);
  for (const StoredTensor& stored : header.tensors)
    result.tensors.emplace(stored.name, read_tensor(file, start + stored.begin, stored));
  return result;
}

}  // namespace tape
