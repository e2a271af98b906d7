#include "models/onnx/onnx.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "base/file.h"
#include "base/protobuf.h"
#include "base/version.h"

namespace tape {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and values are copied without byte swapping");

// Field numbers and type codes of onnx.proto.
constexpr int64_t kIrVersion = 8, kMostInline = (int64_t{1} << 31) - (int64_t{1} << 20), kSmallTensor = 1024,
                  kDataPage = 4096;

using Message = ProtobufWriter;

Message message_of(const std::string& name, const OnnxAttribute& value) {
  Message m;
  m.text(1, name);
  if (const auto* real = std::get_if<float>(&value)) return m.real(2, *real).number(20, 1);
  if (const auto* whole = std::get_if<int64_t>(&value)) return m.number(3, *whole).number(20, 2);
  for (const int64_t one : std::get<std::vector<int64_t>>(value)) m.number(8, one);
  return m.number(20, 7);
}

Message message_of(const OnnxNode& node) {
  Message m;
  for (const std::string& input : node.inputs) m.text(1, input);
  for (const std::string& output : node.outputs) m.text(2, output);
  m.text(3, node.name).text(4, node.op);
  for (const auto& [name, value] : node.attributes) m.message(5, message_of(name, value));
  return m;
}

Message message_of(const OnnxValue& value) {
  Message shape;
  for (const OnnxSize& size : value.shape) {
    const auto* fixed = std::get_if<int64_t>(&size);
    shape.message(1, fixed ? Message().number(1, *fixed) : Message().text(2, std::get<std::string>(size)));
  }
  const Message tensor = Message().number(1, onnx_type(value.dtype)).message(2, shape);
  return Message().text(1, value.name).message(2, Message().message(1, tensor));
}

int64_t bytes_of(const OnnxTensor& tensor) { return tensor.values.numel() * size_of(tensor.stored); }

/// A TensorProto except its values, which are its last field.
Message head_of(const OnnxTensor& tensor) {
  Message m;
  const Shape& shape = tensor.values.shape();
  for (int64_t axis = 0; axis < shape.rank(); ++axis)
    m.number(1, shape[tensor.transposed ? shape.rank() - 1 - axis : axis]);
  return m.number(2, onnx_type(tensor.stored)).text(8, tensor.name);
}

Message inline_head(const OnnxTensor& tensor) { return head_of(tensor).begin_bytes(9, bytes_of(tensor)); }

Message outside(const OnnxTensor& tensor, const std::string& file, int64_t offset) {
  Message m = head_of(tensor);
  const auto entry = [&m](const char* key, const std::string& value) {
    m.message(13, Message().text(1, key).text(2, value));
  };
  entry("location", file);
  entry("offset", fmt::format("{}", offset));
  entry("length", fmt::format("{}", bytes_of(tensor)));
  return m.number(14, 1);
}

/// The values in the storage dtype.
Tensor stored_values(const std::string& path, const OnnxTensor& tensor) {
  Tensor values = tensor.values.detach().to(cpu);
  if (tensor.transposed) values = transpose(values, 0, 1);
  if (values.dtype() == tensor.stored) return values;
  Tensor stored = values.to(tensor.stored);
  if (tensor.stored == f16) {
    const Tensor before = values.to(f32), after = stored.to(f32);
    const float *x = before.data<float>(), *y = after.data<float>();
    for (int64_t i = 0; i < before.numel(); ++i)
      if (std::isfinite(x[i]) && !std::isfinite(y[i]))
        raise(ErrorKind::config, "{}: tensor \"{}\": {} overflows f16; use bf16 or f32", path, tensor.name, x[i]);
  }
  return stored;
}

void write_values(const Writer& write, const std::string& path, const OnnxTensor& tensor) {
  const Tensor values = stored_values(path, tensor);
  write({static_cast<const char*>(values.raw()), static_cast<size_t>(bytes_of(tensor))});
}

void check_names(const std::string& path, const OnnxModel& model) {
  std::set<std::string_view> known{""};
  const auto make = [&](const std::string& name) {
    if (!known.insert(name).second) raise(ErrorKind::config, "{}: two values are called \"{}\"", path, name);
  };
  const auto use = [&](const std::string& name, const std::string& user) {
    if (!known.contains(name)) raise(ErrorKind::config, "{}: {} uses \"{}\" before it is defined", path, user, name);
  };
  for (const OnnxValue& input : model.inputs) make(input.name);
  for (const OnnxTensor& tensor : model.tensors) make(tensor.name);
  for (const OnnxNode& node : model.nodes) {
    for (const std::string& input : node.inputs) use(input, node.name);
    for (const std::string& output : node.outputs) make(output);
  }
  for (const OnnxValue& output : model.outputs) use(output.name, "an output");
}

void check_tensors(const std::string& path, const OnnxModel& model) {
  for (const OnnxTensor& tensor : model.tensors) {
    const DType from = tensor.values.dtype();
    const bool converts = is_floating(from) && (is_half(tensor.stored) || tensor.stored == f32);
    if (from != tensor.stored && !converts)
      raise(ErrorKind::config, "{}: tensor \"{}\": {} cannot be stored as {}", path, tensor.name, to_string(from),
            to_string(tensor.stored));
    if (tensor.transposed && tensor.values.rank() != 2)
      raise(ErrorKind::config, "{}: tensor \"{}\": cannot transpose {}, which is not a matrix", path, tensor.name,
            to_string(tensor.values.shape()));
  }
}

int64_t page_aligned(int64_t offset) { return (offset + kDataPage - 1) / kDataPage * kDataPage; }

/// Whether a tensor's values go to the second file, if there is one.
bool is_external(const OnnxTensor& tensor, bool apart) { return apart && bytes_of(tensor) >= kSmallTensor; }

/// Writes those tensors at multiples of the page size, so that a reader can map them into memory.
void write_second_file(const std::string& path, const OnnxModel& model) {
  write_file(path, [&](const Writer& write) {
    int64_t at = 0;
    for (const OnnxTensor& tensor : model.tensors) {
      if (!is_external(tensor, true)) continue;
      write(std::string(static_cast<size_t>(page_aligned(at) - at), '\0'));
      write_values(write, path, tensor);
      at = page_aligned(at) + bytes_of(tensor);
    }
  });
}

/// The tensors as fields of the graph, each up to its values, which are written after it; `second` is the name of the
/// second file, or "".
std::vector<Message> heads_of(const OnnxModel& model, const std::string& second) {
  std::vector<Message> heads;
  int64_t offset = 0;
  for (const OnnxTensor& tensor : model.tensors) {
    const bool apart = is_external(tensor, !second.empty());
    const int64_t at = page_aligned(offset);
    const Message head = apart ? outside(tensor, second, at) : inline_head(tensor);
    if (apart) offset = at + bytes_of(tensor);
    heads.push_back(Message().begin_bytes(5, std::ssize(head.bytes) + (apart ? 0 : bytes_of(tensor))));
    heads.back().bytes += head.bytes;
  }
  return heads;
}

void write_first_file(const std::string& path, const OnnxModel& model, const std::string& second) {
  const bool apart = !second.empty();
  const std::vector<Message> heads = heads_of(model, second);
  Message nodes, ends;
  for (const OnnxNode& node : model.nodes) nodes.message(1, message_of(node));
  nodes.text(2, model.name);
  for (const OnnxValue& input : model.inputs) ends.message(11, message_of(input));
  for (const OnnxValue& output : model.outputs) ends.message(12, message_of(output));
  int64_t length = std::ssize(nodes.bytes) + std::ssize(ends.bytes);
  for (size_t i = 0; i < heads.size(); ++i)
    length += std::ssize(heads[i].bytes) + (is_external(model.tensors[i], apart) ? 0 : bytes_of(model.tensors[i]));
  Message begin;
  begin.number(1, kIrVersion).text(2, "tapeformer").text(3, version());
  begin.message(8, Message().text(1, "").number(2, model.opset)).begin_bytes(7, length);
  write_file(path, [&](const Writer& write) {
    write(begin.bytes);
    write(nodes.bytes);
    for (size_t i = 0; i < heads.size(); ++i) {
      write(heads[i].bytes);
      if (!is_external(model.tensors[i], apart)) write_values(write, path, model.tensors[i]);
    }
    write(ends.bytes);
  });
}

}  // namespace

int64_t onnx_type(DType dtype) {
  constexpr int64_t numbers[] = {9, 2, 6, 7, 10, 16, 1, 11};
  return numbers[static_cast<int>(dtype)];
}

void save_onnx(const std::string& path, const OnnxModel& model, const OnnxSaveOptions& options) {
  const NoGrad no_grad;
  check_names(path, model);
  check_tensors(path, model);
  int64_t total = 0;
  for (const OnnxTensor& tensor : model.tensors) total += bytes_of(tensor);
  const std::string second = path + "_data";
  if (total > std::min(options.max_inline_bytes, kMostInline)) {
    write_second_file(second, model);
    write_first_file(path, model, std::filesystem::path(second).filename().string());
    return;
  }
  write_first_file(path, model, "");
  std::error_code ignored;
  std::filesystem::remove(second, ignored);
}

}  // namespace tape
