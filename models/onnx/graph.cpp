#include "models/onnx/graph.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "base/error.h"

namespace tape::models::onnx {

Graph::Graph(DType stored) : stored_(stored) {
  if (stored != f32 && !is_half(stored))
    raise(ErrorKind::config, "export onnx: matrices can be stored as f32, f16 or bf16, got {}", to_string(stored));
}

Value Graph::input(const std::string& name, DType dtype, const std::vector<OnnxSize>& shape) {
  model_.inputs.push_back({name, dtype, shape});
  return {name};
}

void Graph::output(const std::string& name, const Value& value, const std::vector<OnnxSize>& shape) {
  model_.nodes.push_back({"Identity", node_name("Identity"), {value.name}, {name}});
  model_.outputs.push_back({name, f32, shape});
}

std::string Graph::path_to(const std::string& name) const { return path_.empty() ? name : path_ + "." + name; }

Graph::StoredTensor& Graph::held(const std::string& name, const Tensor& values, bool transposed) {
  const auto [place, is_new] = stored_tensors_.try_emplace({values.device_raw(), to_string(values.shape())});
  if (is_new) {
    model_.tensors.push_back({path_to(name), values, values.rank() < 2 ? f32 : stored_, transposed});
    place->second = {{path_to(name)}, transposed, {}, {}};
  }
  return place->second;
}

Value Graph::wide(StoredTensor& held) {
  if (stored_ == f32) return held.stored;
  if (!held.wide.defined()) held.wide = cast(held.stored, f32);
  return held.wide;
}

Value Graph::vector(const std::string& name, const Tensor& values) { return held(name, values, false).stored; }

Value Graph::array(const std::string& name, const Tensor& values) { return wide(held(name, values, false)); }

Value Graph::transposed(const std::string& name, const Tensor& weight) {
  StoredTensor& matrix = held(name, weight, true);
  Value values = wide(matrix);
  if (matrix.transposed) return values;
  if (!matrix.other.defined()) matrix.other = permute(values, {1, 0});
  return matrix.other;
}

Value Graph::rows(const std::string& name, const Tensor& table, const Value& ids) {
  StoredTensor& matrix = held(name, table, false);
  if (!matrix.transposed) {
    const Value taken = op("Gather", {matrix.stored, ids});
    return stored_ == f32 ? taken : cast(taken, f32);
  }
  const Value values = wide(matrix);
  if (!matrix.other.defined()) matrix.other = permute(values, {1, 0});
  return op("Gather", {matrix.other, ids});
}

Value Graph::number(double value) { return constant(full({}, value)); }
Value Graph::whole(int64_t value) { return constant(full({}, value, i64)); }
Value Graph::wholes(const std::vector<int64_t>& values) { return constant(from_vector(values, {std::ssize(values)})); }

Value Graph::constant(const Tensor& given) {
  const Tensor values = given.to(cpu);
  std::string key = to_string(values.shape());
  key.append(static_cast<const char*>(values.raw()), static_cast<size_t>(values.numel() * size_of(values.dtype())));
  Value& known = constants_[{values.dtype(), key}];
  if (!known.defined()) {
    known = {fmt::format("constants.{}", constants_.size() - 1)};
    model_.tensors.push_back({known.name, values, values.dtype()});
  }
  return known;
}

std::string Graph::node_name(const std::string& op) {
  std::string name = fmt::format("{}/{}", path_, op);
  const int64_t before = used_[name]++;
  if (before > 0) name += fmt::format("_{}", before);
  return name;
}

Value Graph::op(const std::string& type, const std::vector<Value>& inputs, const Attributes& attributes) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const Value& input : inputs) names.push_back(input.name);
  const std::string node = node_name(type);
  model_.nodes.push_back({type, node, names, {node + ":0"}, attributes});
  return {node + ":0"};
}

std::vector<Value> Graph::split(const Value& x, const std::vector<int64_t>& columns) {
  const std::string node = node_name("Split");
  std::vector<Value> parts;
  std::vector<std::string> names;
  for (size_t i = 0; i < columns.size(); ++i) {
    parts.push_back({fmt::format("{}:{}", node, i)});
    names.push_back(parts.back().name);
  }
  model_.nodes.push_back({"Split", node, {x.name, wholes(columns).name}, names, {{"axis", int64_t{-1}}}});
  return parts;
}

Value Graph::cast(const Value& x, DType to) { return op("Cast", {x}, {{"to", onnx_type(to)}}); }

Value Graph::size(const Value& x, int64_t axis) { return op("Gather", {op("Shape", {x}), whole(axis)}); }

Value Graph::refuse(const std::string& what) const {
  raise(ErrorKind::config, "export onnx: {}{}{}", path_, path_.empty() ? "" : ": ", what);
}

OnnxModel Graph::take(const std::string& name) {
  model_.name = name;
  return std::move(model_);
}

GraphScope::GraphScope(Graph& graph, const nn::Module& module) : graph_(graph), before_(graph.path_) {
  if (!module.name().empty()) graph.path_ = graph.path_to(module.name());
}
GraphScope::GraphScope(Graph& graph) : graph_(graph), before_(std::exchange(graph.path_, "")) {}
GraphScope::~GraphScope() { graph_.path_ = before_; }

}  // namespace tape::models::onnx
