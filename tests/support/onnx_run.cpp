#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "tests/support/onnx_file.h"

namespace tape {
namespace {

/// One operator and its input values.
struct Call {
  const OnnxNode& node;
  std::vector<Tensor> in;

  const Tensor& operator[](size_t i) const { return in.at(i); }
  std::vector<int64_t> wholes(size_t i) const { return in.at(i).to_vector<int64_t>(); }
  template <class T>
  T attribute(const char* name, T otherwise) const {
    for (const auto& [key, value] : node.attributes)
      if (key == name) return std::get<T>(value);
    return otherwise;
  }
  int64_t axis(int64_t otherwise) const { return attribute<int64_t>("axis", otherwise); }
  Dims dims() const { return attribute<int64_t>("keepdims", 1) == 1 ? Dims::keep : Dims::drop; }
  Axes axes() const { return attribute("axes", std::vector<int64_t>()); }
};

std::vector<int64_t> in_order(std::vector<int64_t> axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

Tensor reshaped(const Tensor& x, std::vector<int64_t> shape) {
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == 0) shape[i] = x.size(static_cast<int64_t>(i));
  return reshape(x, shape);
}

Tensor with_axes(Tensor x, const std::vector<int64_t>& axes) {
  for (const int64_t axis : in_order(axes)) x = unsqueeze(x, axis);
  return x;
}

/// Gathers rows of one axis by ids of any shape.
Tensor taken(const Tensor& x, const Tensor& ids, int64_t axis) {
  const Tensor rows = index_select(x, axis, reshape(ids, {ids.numel()}));
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  const auto place = shape.erase(shape.begin() + axis);
  shape.insert(place, ids.shape().begin(), ids.shape().end());
  return reshape(rows, shape);
}

Tensor sizes_of(const Tensor& x) { return from_vector(std::vector<int64_t>(x.shape().begin(), x.shape().end())); }

using Function = std::function<Tensor(const Call&)>;

const std::map<std::string, Function>& functions() {
  using C = const Call&;
  static const std::map<std::string, Function> all{
      {"Add", [](C c) { return c[0] + c[1]; }},
      {"And", [](C c) { return logical_and(c[0], c[1]); }},
      {"Cast",
       [](C c) {
         for (const DType to : {boolean, i64, f16, bf16, f32})
           if (onnx_type(to) == c.attribute<int64_t>("to", 0)) return to == boolean ? ne(c[0], 0) : c[0].to(to);
         throw std::invalid_argument("Cast");
       }},
      {"Clip", [](C c) { return minimum(maximum(c[0], c[1]), c[2]); }},
      {"Concat", [](C c) { return cat(c.in, c.axis(0)); }},
      {"Conv",
       [](C c) {
         const auto pads = c.attribute("pads", std::vector<int64_t>());
         if (pads[0] != pads[2] || pads[1] != pads[3]) throw std::invalid_argument("Conv");
         return conv2d(c[0], c[1], c.in.size() > 2 ? c[2] : Tensor(),
                       {.stride = c.attribute("strides", std::vector<int64_t>()),
                        .padding = SpatialSizes(std::vector<int64_t>{pads[0], pads[1]}),
                        .dilation = c.attribute("dilations", std::vector<int64_t>()),
                        .groups = c.attribute<int64_t>("group", 1)});
       }},
      {"Cos", [](C c) { return cos(c[0]); }},
      {"CumSum", [](C c) { return cumsum(c[0].to(f64), c[1].item<int64_t>()).to(i64); }},
      {"Div", [](C c) { return c[0] / c[1]; }},
      {"Equal", [](C c) { return eq(c[0], c[1]); }},
      {"Erf", [](C c) { return erf(c[0]); }},
      {"Expand", [](C c) { return expand(c[0], c.wholes(1)); }},
      {"Gather", [](C c) { return taken(c[0], c[1], c.axis(0)); }},
      {"GreaterOrEqual", [](C c) { return ge(c[0], c[1]); }},
      {"Identity", [](C c) { return c[0]; }},
      {"LayerNormalization",
       [](C c) { return layer_norm(c[0], c[1], c.in.size() > 2 ? c[2] : Tensor(), c.attribute("epsilon", 1e-5F)); }},
      {"LessOrEqual", [](C c) { return le(c[0], c[1]); }},
      {"MatMul", [](C c) { return matmul(c[0], c[1]); }},
      {"Max", [](C c) { return maximum(c[0], c[1]); }},
      {"Mul", [](C c) { return c[0] * c[1]; }},
      {"Not", [](C c) { return logical_not(c[0]); }},
      {"Pow", [](C c) { return pow(c[0], c[1]); }},
      {"Range", [](C c) { return arange(c[0].item(), c[1].item(), c[2].item()); }},
      {"ReduceMax", [](C c) { return max(c[0], c.axes(), c.dims()); }},
      {"ReduceMean", [](C c) { return mean(c[0], c.axes(), c.dims()); }},
      {"ReduceSum", [](C c) { return sum(c[0], c.wholes(1), c.dims()); }},
      {"Relu", [](C c) { return relu(c[0]); }},
      {"Reshape", [](C c) { return reshaped(c[0], c.wholes(1)); }},
      {"Shape", [](C c) { return slice(sizes_of(c[0]), 0, {.end = c.attribute<int64_t>("end", c[0].rank())}); }},
      {"Sigmoid", [](C c) { return sigmoid(c[0]); }},
      {"Sin", [](C c) { return sin(c[0]); }},
      {"Slice",
       [](C c) {
         return slice(c[0], c.wholes(3)[0], {.start = c.wholes(1)[0], .end = c.wholes(2)[0], .step = c.wholes(4)[0]});
       }},
      {"Softmax", [](C c) { return softmax(c[0], c.axis(-1)); }},
      {"Sqrt", [](C c) { return sqrt(c[0]); }},
      {"Squeeze", [](C c) { return squeeze(c[0], c.wholes(1)); }},
      {"Sub", [](C c) { return c[0] - c[1]; }},
      {"Tanh", [](C c) { return tanh(c[0]); }},
      {"Transpose", [](C c) { return permute(c[0], c.attribute("perm", std::vector<int64_t>())); }},
      {"Unsqueeze", [](C c) { return with_axes(c[0], c.wholes(1)); }},
      {"Where", [](C c) { return where(c[0], c[1], c[2]); }}};
  return all;
}

}  // namespace

std::map<std::string, Tensor> run_onnx(const OnnxModel& model, const std::map<std::string, Tensor>& inputs) {
  std::map<std::string, Tensor> values = inputs, outputs;
  for (const OnnxTensor& tensor : model.tensors)
    values[tensor.name] = (tensor.transposed ? transpose(tensor.values) : tensor.values).to(tensor.stored);
  for (const OnnxNode& node : model.nodes) {
    Call call{node, {}};
    for (const std::string& input : node.inputs) call.in.push_back(values.at(input));
    if (node.op == "Split") {
      const Tensors parts = split(call[0], call.wholes(1), call.axis(0));
      for (size_t i = 0; i < parts.size(); ++i) values[node.outputs.at(i)] = parts[i];
      continue;
    }
    const auto function = functions().find(node.op);
    if (function == functions().end()) throw std::invalid_argument(fmt::format("no operator {}", node.op));
    values[node.outputs.at(0)] = function->second(call);
  }
  for (const OnnxValue& output : model.outputs) outputs[output.name] = values.at(output.name);
  return outputs;
}

}  // namespace tape
