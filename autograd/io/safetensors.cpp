#include "autograd/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "autograd/create.h"
#include "autograd/io/safetensors_header.h"
#include "base/file.h"
#include "base/json_value.h"
#include "base/utf8.h"

namespace tape {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and values are copied unchanged");

using detail::StoredTensor;

constexpr int64_t kMaxHeader = 100'000'000;

Tensor read_tensor(const InputFile& file, int64_t position, const StoredTensor& stored) {
  Tensor tensor = empty(stored.shape, {stored.dtype, cpu});
  file.read(position, tensor.raw(), stored.end - stored.begin);
  if (stored.dtype != boolean) return tensor;
  // A bool other than 0 or 1 is undefined behavior, so it must not reach a caller.
  const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
  const auto* wrong = std::find_if(bytes, bytes + tensor.numel(), [](uint8_t byte) { return byte > 1; });
  if (wrong != bytes + tensor.numel())
    raise(ErrorKind::format, "{}: tensor \"{}\": a BOOL must be 0 or 1, found {}", file.path(), stored.name, *wrong);
  return tensor;
}

/// Returns the header preceded by its length, padded with spaces to a multiple of 8 bytes.
std::string make_header(const std::string& path, const std::vector<std::pair<std::string, TensorSource>>& ordered,
                        const std::map<std::string, std::string>& metadata) {
  std::map<std::string, JsonValue> entries;  // sorted, as other writers do
  if (!metadata.empty()) entries["__metadata__"] = JsonValue::Object(metadata.begin(), metadata.end());
  int64_t position = 0;
  bool valid = true;
  for (const auto& [key, value] : metadata) valid = valid && valid_utf8(key) && valid_utf8(value);
  for (const auto& [name, tensor] : ordered) {
    const int64_t end = position + tensor.shape.numel() * size_of(tensor.dtype);
    entries[name] = JsonValue::Object{{"data_offsets", JsonValue::Array{position, end}},
                                      {"dtype", std::string(detail::stored_name(tensor.dtype))},
                                      {"shape", JsonValue::Array(tensor.shape.begin(), tensor.shape.end())}};
    position = end;
    valid = valid && valid_utf8(name);
  }
  if (!valid) raise(ErrorKind::config, "{}: a tensor name or a metadata value is not UTF-8", path);
  std::string text = JsonValue(JsonValue::Object(entries.begin(), entries.end())).dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  std::string prefix(sizeof length, '\0');
  std::memcpy(prefix.data(), &length, sizeof length);
  return prefix + text;
}

}  // namespace

TensorSource source_of(const Tensor& tensor) {
  return {tensor.dtype(), tensor.shape(), [tensor](const Writer& write) {
            const Tensor host = tensor.detach().to(cpu);
            write({static_cast<const char*>(host.raw()), static_cast<size_t>(host.numel() * size_of(host.dtype()))});
          }};
}

std::vector<std::pair<std::string, TensorSource>> in_file_order(const std::map<std::string, TensorSource>& tensors) {
  std::vector<std::pair<std::string, TensorSource>> ordered(tensors.begin(), tensors.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return size_of(a.second.dtype) > size_of(b.second.dtype); });
  return ordered;
}

namespace {

/// The header is made, and checked, before anything is written.
std::function<void(const Writer&)> writer_of(const std::string& where,
                                             const std::map<std::string, TensorSource>& tensors,
                                             const std::map<std::string, std::string>& metadata) {
  if (tensors.contains("__metadata__"))
    raise(ErrorKind::config, "{}: a tensor cannot be named \"__metadata__\"", where);
  auto ordered = in_file_order(tensors);
  return [header = make_header(where, ordered, metadata), ordered](const Writer& write) {
    write(header);
    for (const auto& [name, tensor] : ordered) tensor.give(write);
  };
}

}  // namespace

void save_safetensors(const std::string& path, const std::map<std::string, TensorSource>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  write_file(path, writer_of(path, tensors, metadata));
}

void write_safetensors(const Writer& write, const std::string& where,
                       const std::map<std::string, TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata) {
  writer_of(where, tensors, metadata)(write);
}

void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::map<std::string, TensorSource> sources;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) raise(ErrorKind::config, "{}: tensor \"{}\" is undefined", path, name);
    sources[name] = source_of(tensor);
  }
  save_safetensors(path, sources, metadata);
}

void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::map<std::string, Tensor> by_name;
  for (const auto& [name, tensor] : tensors)
    if (!by_name.emplace(name, tensor).second) raise(ErrorKind::config, "{}: two tensors are named \"{}\"", path, name);
  save_safetensors(path, by_name, metadata);
}

SafetensorsFile load_safetensors(const std::string& path) {
  const InputFile file(path);
  if (file.size() < 8) raise(ErrorKind::format, "{}: header too small ({} bytes)", path, file.size());
  uint64_t length = 0;
  file.read(0, &length, 8);
  if (length == 0 || length > static_cast<uint64_t>(std::min(kMaxHeader, file.size() - 8)))
    raise(ErrorKind::format, "{}: header length {}, but the file has {} bytes", path, length, file.size());
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
