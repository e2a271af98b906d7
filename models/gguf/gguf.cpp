#include "models/gguf/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "autograd/create.h"
#include "base/file.h"
#include "models/gguf/blocks.h"

namespace tape {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and values are copied without byte swapping");

constexpr std::string_view kMagic = "GGUF";
constexpr uint32_t kVersion = 3;
constexpr uint64_t kGgufAlignment = 32, kMostAxes = 4;
constexpr const char* kGgufAlignmentKey = "general.alignment";

/// The format's code of a tensor type, by GgufType.
constexpr std::array<std::pair<uint32_t, const char*>, 5> kTensorTypes{
    {{0, "F32"}, {1, "F16"}, {30, "BF16"}, {8, "Q8_0"}, {2, "Q4_0"}}};

enum ValueType : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

template <class T>
constexpr ValueType type_of() {
  if constexpr (std::same_as<T, std::string>) return kString;
  if constexpr (std::same_as<T, bool>) return kBool;
  if constexpr (std::floating_point<T>) return sizeof(T) == 4 ? kF32 : kF64;
  if constexpr (std::signed_integral<T>) return sizeof(T) == 4 ? kI32 : kI64;
  return sizeof(T) == 4 ? kU32 : kU64;
}

uint64_t aligned(uint64_t position, uint64_t alignment) { return (position + alignment - 1) / alignment * alignment; }

// Writing.

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}
void append(std::string& to, const std::string& text) {
  append(to, static_cast<uint64_t>(text.size()));
  to += text;
}

template <class T>
void append_value(std::string& to, const T& value) {
  append(to, static_cast<uint32_t>(type_of<T>()));
  append(to, value);
}
template <class T>
void append_value(std::string& to, const std::vector<T>& values) {
  append(to, static_cast<uint32_t>(kArray));
  append(to, static_cast<uint32_t>(type_of<T>()));
  append(to, static_cast<uint64_t>(values.size()));
  for (const T& value : values) append(to, value);
}

void check_to_save(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors) {
  std::set<std::string_view> names;
  for (const auto& [key, value] : metadata)
    if (!names.insert(key).second) raise(ErrorKind::config, "{}: two entries are called \"{}\"", path, key);
  names.clear();
  for (const GgufTensor& t : tensors) {
    if (!names.insert(t.name).second) raise(ErrorKind::config, "{}: two tensors are called \"{}\"", path, t.name);
    if (!is_f32_or_f64(t.values.dtype()))
      raise(ErrorKind::config, "{}: tensor \"{}\": values must be f32 or f64, not {}", path, t.name,
            to_string(t.values.dtype()));
    if (t.values.rank() < 1 || t.values.rank() > static_cast<int64_t>(kMostAxes))
      raise(ErrorKind::config, "{}: tensor \"{}\" {}: must have one to four axes", path, t.name,
            to_string(t.values.shape()));
    const int64_t row = t.values.size(t.values.rank() - 1), block = detail::block_of(t.type).values;
    if (row % block != 0)
      raise(ErrorKind::config, "{}: tensor \"{}\" {}: rows of {} must be a multiple of {}", path, t.name,
            to_string(t.values.shape()), to_string(t.type), block);
  }
}

/// A scale of NaN or infinity would destroy the whole block.
void check_finite(const std::string& path, const GgufTensor& tensor, const Tensor& values) {
  const float* const begin = values.data<float>();
  if (detail::block_of(tensor.type).values > 1 &&
      !std::all_of(begin, begin + values.numel(), [](float value) { return std::isfinite(value); }))
    raise(ErrorKind::config, "{}: tensor \"{}\": {} cannot represent NaN and infinity", path, tensor.name,
          to_string(tensor.type));
}

/// The axes are written from the innermost one.
void append_info(std::string& to, const GgufTensor& tensor, uint64_t offset) {
  append(to, tensor.name);
  append(to, static_cast<uint32_t>(tensor.values.rank()));
  for (int64_t axis = tensor.values.rank() - 1; axis >= 0; --axis)
    append(to, static_cast<uint64_t>(tensor.values.size(axis)));
  append(to, kTensorTypes[static_cast<size_t>(tensor.type)].first);
  append(to, offset);
}

// Reading.

/// Parses a file's header.
class Header {
 public:
  explicit Header(const InputFile& file) : file_(file) {}

  template <class T>
  T take() {
    T value;
    need(sizeof value);
    file_.read(at_, &value, sizeof value);
    at_ += static_cast<int64_t>(sizeof value);
    return value;
  }

  std::string take_string() {
    const auto length = take<uint64_t>();
    need(length);
    std::string text(static_cast<size_t>(length), '\0');
    file_.read(at_, text.data(), static_cast<int64_t>(length));
    at_ += static_cast<int64_t>(length);
    return text;
  }

  GgufValue take_value(const std::string& key) {
    const auto type = take<uint32_t>();
    if (type != kArray) return take_one(key, type);
    const auto item = take<uint32_t>();
    const auto count = take<uint64_t>();
    if (count > left()) wrong(fmt::format("\"{}\": an array of {}", key, count));
    if (item == kString) return take_array<std::string>(count, [this] { return take_string(); });
    if (item == kF32) return take_array<float>(count, [this] { return take<float>(); });
    if (item == kU32) return take_array<uint32_t>(count, [this] { return take<uint32_t>(); });
    if (item == kI32) return take_array<int32_t>(count, [this] { return take<int32_t>(); });
    if (item == kU8 || item == kBool) return take_array<uint32_t>(count, [this] { return uint32_t{take<uint8_t>()}; });
    if (item == kU16) return take_array<uint32_t>(count, [this] { return uint32_t{take<uint16_t>()}; });
    if (item == kI8) return take_array<int32_t>(count, [this] { return int32_t{take<int8_t>()}; });
    if (item == kI16) return take_array<int32_t>(count, [this] { return int32_t{take<int16_t>()}; });
    raise(ErrorKind::dtype, "{}: \"{}\": arrays of type {} are not supported", file_.path(), key, item);
  }

  int64_t at() const { return at_; }
  uint64_t left() const { return static_cast<uint64_t>(file_.size() - at_); }
  [[noreturn]] void wrong(const std::string& what) const {
    raise(ErrorKind::format, "{}: {}, at byte {} of {}", file_.path(), what, at_, file_.size());
  }

 private:
  void need(uint64_t bytes) const {
    if (bytes > left()) wrong(fmt::format("{} bytes are needed", bytes));
  }

  GgufValue take_one(const std::string& key, uint32_t type) {
    switch (type) {
      case kU8:
        return uint32_t{take<uint8_t>()};
      case kI8:
        return int32_t{take<int8_t>()};
      case kU16:
        return uint32_t{take<uint16_t>()};
      case kI16:
        return int32_t{take<int16_t>()};
      case kU32:
        return take<uint32_t>();
      case kI32:
        return take<int32_t>();
      case kF32:
        return take<float>();
      case kBool:
        return take<uint8_t>() != 0;
      case kString:
        return take_string();
      case kU64:
        return take<uint64_t>();
      case kI64:
        return take<int64_t>();
      case kF64:
        return take<double>();
      default:
        wrong(fmt::format("\"{}\": unknown type {}", key, type));
    }
  }

  template <class T, class Take>
  std::vector<T> take_array(uint64_t count, Take&& one) {
    std::vector<T> values;
    for (uint64_t i = 0; i < count; ++i) values.push_back(one());
    return values;
  }

  const InputFile& file_;
  int64_t at_ = 0;
};

struct TensorInfo {
  std::string name;
  Shape shape;
  GgufType type;
  uint64_t offset;
};

GgufType tensor_type(const InputFile& file, const std::string& name, uint32_t stored) {
  for (size_t i = 0; i < kTensorTypes.size(); ++i)
    if (kTensorTypes[i].first == stored) return static_cast<GgufType>(i);
  raise(ErrorKind::dtype, "{}: tensor \"{}\": ggml type {} is not supported; F32, F16, BF16, Q8_0 and Q4_0 are",
        file.path(), name, stored);
}

/// Number of elements; nullopt on overflow. An empty axis allows the others to have any size.
std::optional<Shape> shape_of(const std::vector<int64_t>& sizes) {
  try {
    return Shape(sizes);
  } catch (const Error&) {
    return std::nullopt;
  }
}

TensorInfo take_info(const InputFile& file, Header& header) {
  std::string name = header.take_string();
  const auto axes = header.take<uint32_t>();
  if (axes < 1 || axes > kMostAxes) header.wrong(fmt::format("tensor \"{}\": {} axes", name, axes));
  std::vector<int64_t> sizes(axes);
  for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) *size = static_cast<int64_t>(header.take<uint64_t>());
  const std::optional<Shape> shape = shape_of(sizes);
  // Every value takes at least half a byte.
  if (!shape || shape->numel() / 2 > file.size())
    header.wrong(fmt::format("tensor \"{}\": more values than the file has", name));
  const GgufType type = tensor_type(file, name, header.take<uint32_t>());
  const detail::GgufBlock block = detail::block_of(type);
  if (sizes.back() % block.values != 0)
    header.wrong(fmt::format("tensor \"{}\": rows of {} must be a multiple of {}, got {}", name, to_string(type),
                             block.values, sizes.back()));
  return {std::move(name), *shape, type, header.take<uint64_t>()};
}

Tensor read_tensor(const InputFile& file, const TensorInfo& info, uint64_t data) {
  const detail::GgufBlock block = detail::block_of(info.type);
  const int64_t count = info.shape.numel(), bytes = count / block.values * block.bytes;
  const auto size = static_cast<uint64_t>(file.size());
  if (data > size || info.offset > size - data || static_cast<uint64_t>(bytes) > size - data - info.offset)
    raise(ErrorKind::format, "{}: tensor \"{}\": {} bytes at {} of the values exceed the file of {}", file.path(),
          info.name, bytes, info.offset, file.size());
  std::string stored(static_cast<size_t>(bytes), '\0');
  file.read(static_cast<int64_t>(data + info.offset), stored.data(), bytes);
  Tensor tensor = empty(info.shape, cpu);
  detail::from_blocks(stored.data(), count, info.type, static_cast<float*>(tensor.raw()));
  return tensor;
}

}  // namespace

const char* to_string(GgufType type) { return kTensorTypes[static_cast<size_t>(type)].second; }

void save_gguf(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors) {
  check_to_save(path, metadata, tensors);
  std::string header(kMagic);
  append(header, kVersion);
  append(header, static_cast<uint64_t>(tensors.size()));
  append(header, static_cast<uint64_t>(metadata.size()));
  for (const auto& [key, value] : metadata) {
    append(header, key);
    std::visit([&](const auto& given) { append_value(header, given); }, value);
  }
  std::vector<std::string> blocks;
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    append_info(header, tensor, offset);
    const Tensor values = tensor.values.detach().to(cpu).to(f32);
    check_finite(path, tensor, values);
    blocks.push_back(detail::to_blocks(values.data<float>(), values.numel(), tensor.type));
    blocks.back().resize(aligned(blocks.back().size(), kGgufAlignment));
    offset += blocks.back().size();
  }
  header.resize(aligned(header.size(), kGgufAlignment));
  std::vector<std::string_view> parts{header};
  parts.insert(parts.end(), blocks.begin(), blocks.end());
  write_file(path, parts);
}

GgufFile load_gguf(const std::string& path) {
  const InputFile file(path);
  Header header(file);
  std::string magic(std::min<uint64_t>(kMagic.size(), header.left()), '\0');
  for (char& letter : magic) letter = header.take<char>();
  if (magic != kMagic) raise(ErrorKind::format, "{}: is not a GGUF file: it does not begin with \"{}\"", path, kMagic);
  const auto version = header.take<uint32_t>();
  if (version != 2 && version != kVersion)
    raise(ErrorKind::format, "{}: GGUF version {} is not supported; versions 2 and 3 are", path, version);
  const auto tensors = header.take<uint64_t>(), entries = header.take<uint64_t>();
  GgufFile result;
  for (uint64_t i = 0; i < entries; ++i) {
    std::string key = header.take_string();
    GgufValue value = header.take_value(key);
    if (!result.metadata.emplace(key, std::move(value)).second) header.wrong(fmt::format("\"{}\" appears twice", key));
  }
  std::vector<TensorInfo> infos;
  std::set<std::string_view> names;
  for (uint64_t i = 0; i < tensors; ++i) infos.push_back(take_info(file, header));
  for (const TensorInfo& info : infos)
    if (!names.insert(info.name).second) header.wrong(fmt::format("tensor \"{}\" appears twice", info.name));
  uint64_t alignment = kGgufAlignment;
  if (const auto own = result.metadata.find(kGgufAlignmentKey); own != result.metadata.end()) {
    const auto* number = std::get_if<uint32_t>(&own->second);
    if (!number || *number == 0 || *number % 8 != 0)
      header.wrong(fmt::format("\"{}\" is not a multiple of 8", kGgufAlignmentKey));
    alignment = *number;
  }
  const uint64_t data = aligned(static_cast<uint64_t>(header.at()), alignment);
  for (const TensorInfo& info : infos) result.tensors.emplace(info.name, read_tensor(file, info, data));
  return result;
}

}  // namespace tape
