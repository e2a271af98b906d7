#include "autograd/io/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "autograd/create.h"
#include "autograd/io/npy_header.h"
#include "autograd/io/npy_values.h"
#include "autograd/ops/shape/shape.h"
#include "base/file.h"

namespace tape {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written in memory order and declared little-endian");

using detail::NpyHeader, detail::NpyReader;

template <class T>
void swap_bytes(T* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    auto* bytes = reinterpret_cast<unsigned char*>(values + i);
    std::reverse(bytes, bytes + sizeof(T));
  }
}

void swap_bytes(void* values, int64_t count, int64_t element) {
  if (element == 2) swap_bytes(static_cast<uint16_t*>(values), count);
  if (element == 4) swap_bytes(static_cast<uint32_t*>(values), count);
  if (element == 8) swap_bytes(static_cast<uint64_t*>(values), count);
}

DType dtype_of_header(const NpyHeader& header) {
  switch (header.kind) {
    case 'f':
      return header.element == 2 ? f16 : header.element == 4 ? f32 : f64;
    case 'V':
      return bf16;
    case 'b':
      return boolean;
    case 'u':
      return header.element == 1 ? u8 : header.element == 2 ? i32 : i64;
    default:
      return header.element == 8 ? i64 : i32;
  }
}

/// Widens integers of a width without a dtype.
template <class From>
void widen(Tensor& to, const Tensor& bytes) {
  const auto* from = static_cast<const From*>(bytes.raw());
  if (to.dtype() == i32)
    std::transform(from, from + to.numel(), to.mutable_data<int32_t>(), [](From x) { return static_cast<int32_t>(x); });
  else
    std::transform(from, from + to.numel(), to.mutable_data<int64_t>(), [](From x) { return static_cast<int64_t>(x); });
}

void widen(Tensor& to, const Tensor& bytes, const NpyHeader& header) {
  if (header.kind == 'i') return header.element == 1 ? widen<int8_t>(to, bytes) : widen<int16_t>(to, bytes);
  return header.element == 2 ? widen<uint16_t>(to, bytes) : widen<uint32_t>(to, bytes);
}

/// Checks for byte values that the dtype cannot represent.
void check_values(const std::string& where, const NpyHeader& header, const Tensor& tensor) {
  if (header.kind == 'b') {
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
    for (int64_t i = 0; i < tensor.numel(); ++i)
      if (bytes[i] > 1) raise(ErrorKind::format, "{}: a bool must be 0 or 1, found {}", where, bytes[i]);
  }
  if (header.kind == 'u' && header.element == 8) {
    const auto* values = static_cast<const int64_t*>(tensor.raw());
    for (int64_t i = 0; i < tensor.numel(); ++i)
      if (values[i] < 0)
        raise(ErrorKind::format, "{}: u8 value {} does not fit i64", where, static_cast<uint64_t>(values[i]));
  }
}

/// Values of [a, b, c] in Fortran order are the values of [c, b, a] in C order.
Shape reversed(const Shape& shape) {
  const std::vector<int64_t> sizes = shape.to_vector();
  return Shape(std::vector<int64_t>(sizes.rbegin(), sizes.rend()));
}

Tensor read_values(const std::string& where, const NpyReader& reader, const NpyHeader& header) {
  const Shape stored = header.fortran_order ? reversed(header.shape) : header.shape;
  Tensor tensor = empty(stored, {dtype_of_header(header), cpu});
  const bool as_it_is = size_of(tensor.dtype()) == header.element;
  const int64_t bytes = stored.numel() * header.element;
  Tensor raw = as_it_is ? tensor : empty({bytes}, {u8, cpu});
  reader.read(raw.raw(), bytes);
  if (header.swapped) swap_bytes(raw.raw(), stored.numel(), header.element);
  if (!as_it_is) widen(tensor, raw, header);
  check_values(where, header, tensor);
  if (!header.fortran_order || stored.rank() < 2) return tensor;
  std::vector<int64_t> axes(static_cast<size_t>(stored.rank()));
  std::iota(axes.rbegin(), axes.rend(), 0);
  return permute(tensor, axes);
}

}  // namespace

Tensor detail::read_npy(const std::string& where, const NpyReader& reader) {
  std::string bytes(static_cast<size_t>(std::min(kNpyPrefix, reader.size)), '\0');
  reader.read(bytes.data(), std::ssize(bytes));
  const int64_t header_bytes = npy_header_bytes(where, bytes, reader.size), read = std::ssize(bytes);
  if (header_bytes < read) raise(ErrorKind::format, "{}: header too small ({} bytes)", where, header_bytes);
  bytes.resize(static_cast<size_t>(header_bytes));
  reader.read(bytes.data() + read, header_bytes - read);
  const NpyHeader header = parse_npy_header(where, bytes);
  const int64_t needed = header.shape.numel() * header.element;
  if (needed != reader.size - header_bytes)
    raise(ErrorKind::format, "{}: {} of {}{} needs {} bytes after the header, there are {}", where,
          to_string(header.shape), header.kind, header.element, needed, reader.size - header_bytes);
  return read_values(where, reader, header);
}

std::string_view detail::bytes_of(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.raw()), static_cast<size_t>(tensor.numel() * size_of(tensor.dtype()))};
}

void save_npy(const std::string& path, const Tensor& tensor) {
  if (!tensor.defined()) raise(ErrorKind::config, "{}: the tensor is undefined", path);
  const std::string header = detail::make_npy_header(tensor.dtype(), tensor.shape());
  const Tensor host = tensor.detach().to(cpu);
  const std::string_view parts[] = {header, detail::bytes_of(host)};
  write_file(path, parts);
}

Tensor load_npy(const std::string& path) {
  const InputFile file(path);
  int64_t position = 0;
  return detail::read_npy(path, {file.size(), [&](void* to, int64_t bytes) {
                                   file.read(position, to, bytes);
                                   position += bytes;
                                 }});
}

}  // namespace tape
