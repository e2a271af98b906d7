#include "tests/support/onnx_file.h"

#include <cstring>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>

#include "autograd/create.h"
#include "base/file.h"
#include "base/protobuf.h"

namespace tape {
namespace {

using Field = ProtobufField;

void each_field(std::string_view message, const std::function<void(const Field&)>& see) {
  for (ProtobufReader reader(message, "ONNX", "no message"); !reader.done();) see(reader.next());
}

[[noreturn]] void unknown(const char* message, const Field& field) {
  throw std::invalid_argument(fmt::format("field {} of {}", field.field, message));
}

DType dtype_from(uint64_t type) {
  for (const DType dtype : {boolean, u8, i32, i64, f16, bf16, f32, f64})
    if (onnx_type(dtype) == static_cast<int64_t>(type)) return dtype;
  throw std::invalid_argument(fmt::format("type {}", type));
}

std::pair<std::string, OnnxAttribute> read_attribute(std::string_view message) {
  std::string name;
  std::vector<int64_t> wholes;
  OnnxAttribute value;
  uint64_t type = 0;
  each_field(message, [&](const Field& f) {
    if (f.field == 1)
      name = f.bytes;
    else if (f.field == 2)
      value = f.as_float();
    else if (f.field == 3)
      value = static_cast<int64_t>(f.number);
    else if (f.field == 8)
      wholes.push_back(static_cast<int64_t>(f.number));
    else if (f.field == 20)
      type = f.number;
    else
      unknown("AttributeProto", f);
  });
  if (type == 7) value = wholes;
  const size_t held[] = {1, 0, 2};  // FLOAT, INT, INTS
  if (type == 0 || value.index() != held[type == 7 ? 2 : type - 1]) throw std::invalid_argument("type of " + name);
  return {name, value};
}

OnnxNode read_node(std::string_view message) {
  OnnxNode node;
  each_field(message, [&](const Field& f) {
    if (f.field == 1)
      node.inputs.emplace_back(f.bytes);
    else if (f.field == 2)
      node.outputs.emplace_back(f.bytes);
    else if (f.field == 3)
      node.name = f.bytes;
    else if (f.field == 4)
      node.op = f.bytes;
    else if (f.field == 5)
      node.attributes.push_back(read_attribute(f.bytes));
    else
      unknown("NodeProto", f);
  });
  return node;
}

OnnxTensor read_tensor(std::string_view message, const std::string& folder) {
  std::string name, bytes;
  std::vector<int64_t> shape;
  std::map<std::string, std::string> outside;
  DType dtype = f32;
  each_field(message, [&](const Field& f) {
    if (f.field == 1)
      shape.push_back(static_cast<int64_t>(f.number));
    else if (f.field == 2)
      dtype = dtype_from(f.number);
    else if (f.field == 8)
      name = f.bytes;
    else if (f.field == 9)
      bytes = f.bytes;
    else if (f.field == 13) {
      std::string key;
      each_field(f.bytes,
                 [&](const Field& entry) { entry.field == 1 ? key = entry.bytes : outside[key] = entry.bytes; });
    } else if (f.field != 14 || f.number != 1)
      unknown("TensorProto", f);
  });
  if (!outside.empty()) {
    bytes = std::string(static_cast<size_t>(std::stoll(outside.at("length"))), '\0');
    InputFile(folder + outside.at("location")).read(std::stoll(outside.at("offset")), bytes.data(), std::ssize(bytes));
  }
  const Tensor values = empty(Shape(shape), dtype);
  if (values.numel() * size_of(dtype) != std::ssize(bytes)) throw std::invalid_argument("bytes of " + name);
  std::memcpy(values.raw(), bytes.data(), bytes.size());
  return {name, values, dtype};
}

OnnxValue read_value(std::string_view message) {
  OnnxValue value{"", f32, {}};
  const auto read_shape = [&](std::string_view shape) {
    each_field(shape, [&](const Field& dimension) {
      each_field(dimension.bytes, [&](const Field& f) {
        f.field == 1 ? value.shape.emplace_back(static_cast<int64_t>(f.number))
                     : value.shape.emplace_back(std::string(f.bytes));
      });
    });
  };
  each_field(message, [&](const Field& f) {
    if (f.field == 1)
      value.name = f.bytes;
    else if (f.field != 2)
      unknown("ValueInfoProto", f);
    else
      each_field(f.bytes, [&](const Field& type) {
        each_field(type.bytes, [&](const Field& part) {
          part.field == 1 ? void(value.dtype = dtype_from(part.number)) : read_shape(part.bytes);
        });
      });
  });
  return value;
}

void read_graph(std::string_view message, const std::string& folder, OnnxModel& model) {
  each_field(message, [&](const Field& f) {
    if (f.field == 1)
      model.nodes.push_back(read_node(f.bytes));
    else if (f.field == 2)
      model.name = f.bytes;
    else if (f.field == 5)
      model.tensors.push_back(read_tensor(f.bytes, folder));
    else if (f.field == 11)
      model.inputs.push_back(read_value(f.bytes));
    else if (f.field == 12)
      model.outputs.push_back(read_value(f.bytes));
    else
      unknown("GraphProto", f);
  });
}

}  // namespace

OnnxFile read_onnx(const std::string& path) {
  const std::string bytes = read_text(path), folder = path.substr(0, path.rfind('/') + 1);
  OnnxFile file;
  each_field(bytes, [&](const Field& f) {
    if (f.field == 1)
      file.ir_version = static_cast<int64_t>(f.number);
    else if (f.field == 2)
      file.producer = f.bytes;
    else if (f.field == 7)
      read_graph(f.bytes, folder, file.model);
    else if (f.field == 8)
      each_field(f.bytes, [&](const Field& set) {
        if (set.field == 2) file.model.opset = static_cast<int64_t>(set.number);
      });
    else if (f.field != 3)
      unknown("ModelProto", f);
  });
  return file;
}

}  // namespace tape
