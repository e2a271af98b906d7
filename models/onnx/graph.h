#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "onnx.h"

/// Converts models to ONNX graphs: one function per kind of layer (layers.h, attention.h, stacks.h), from which those
/// of models (models.h) are built.
namespace tape::models::onnx {

/// A value of a graph, by name; undefined if there is none.
struct Value {
  std::string name;
  bool defined() const { return !name.empty(); }
};

/// Builds a graph operator by operator. Everything is computed in f32; matrices may be stored as f16 or bf16.
class Graph {
 public:
  /// `stored` is the storage dtype of matrices and tables: f32, f16 or bf16; vectors stay f32.
  explicit Graph(DType stored);

  /// Adds an input of the graph.
  Value input(const std::string& name, DType dtype, const std::vector<OnnxSize>& shape);
  /// Adds an output of the graph.
  void output(const std::string& name, const Value& value, const std::vector<OnnxSize>& shape);

  // Tensors of the file, each stored once however often it is requested or tied.
  Value vector(const std::string& name, const Tensor& values);
  /// Of any shape, in f32.
  Value array(const std::string& name, const Tensor& values);
  /// A weight [out, in], transposed to [in, out] for multiplication with x [..., in].
  Value transposed(const std::string& name, const Tensor& weight);
  /// A table [V, C] for lookup by ids.
  Value rows(const std::string& name, const Tensor& table, const Value& ids);

  // Constants, each stored once.
  Value number(double value);
  Value whole(int64_t value);
  Value wholes(const std::vector<int64_t>& values);
  Value constant(const Tensor& values);

  // Operators; `op` is for operators with one output and no method of their own.
  using Attributes = std::vector<std::pair<std::string, OnnxAttribute>>;
  Value op(const std::string& type, const std::vector<Value>& inputs, const Attributes& attributes = {});
  /// Slices the last axis.
  std::vector<Value> split(const Value& x, const std::vector<int64_t>& columns);
  Value add(const Value& a, const Value& b) { return op("Add", {a, b}); }
  Value subtract(const Value& a, const Value& b) { return op("Sub", {a, b}); }
  Value multiply(const Value& a, const Value& b) { return op("Mul", {a, b}); }
  Value divide(const Value& a, const Value& b) { return op("Div", {a, b}); }
  Value matmul(const Value& a, const Value& b) { return op("MatMul", {a, b}); }
  /// 0 copies the size of x at that axis, -1 infers it.
  Value reshape(const Value& x, const std::vector<int64_t>& shape) { return op("Reshape", {x, wholes(shape)}); }
  Value permute(const Value& x, const std::vector<int64_t>& axes) { return op("Transpose", {x}, {{"perm", axes}}); }
  Value unsqueeze(const Value& x, const std::vector<int64_t>& axes) { return op("Unsqueeze", {x, wholes(axes)}); }
  Value concat(const std::vector<Value>& parts, int64_t axis) { return op("Concat", parts, {{"axis", axis}}); }
  Value cast(const Value& x, DType to);
  /// The size of an axis, as a scalar.
  Value size(const Value& x, int64_t axis);

  /// The module that the next operators and tensors belong to: "encoder.layers.0.self_attention".
  const std::string& path() const { return path_; }
  [[noreturn]] Value refuse(const std::string& what) const;
  OnnxModel take(const std::string& name);

 private:
  friend class GraphScope;

  /// A tensor of the file and the values derived from it.
  struct StoredTensor {
    Value stored;
    bool transposed;
    Value wide;   // in f32
    Value other;  // transposed, in f32
  };
  std::string path_to(const std::string& name) const;
  StoredTensor& held(const std::string& name, const Tensor& values, bool transposed);
  Value wide(StoredTensor& held);
  std::string node_name(const std::string& op);

  OnnxModel model_;
  DType stored_;
  std::string path_;
  std::map<std::pair<const void*, std::string>, StoredTensor> stored_tensors_;  // by address and shape
  std::map<std::pair<DType, std::string>, Value> constants_;                    // by shape and bytes
  std::map<std::string, int64_t> used_;                                         // number of nodes per name
};

/// While in scope, operators and tensors belong to a module; outside, to the whole model.
class GraphScope {
 public:
  GraphScope(Graph& graph, const nn::Module& module);
  explicit GraphScope(Graph& graph);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;

 private:
  Graph& graph_;
  std::string before_;
};

}  // namespace tape::models::onnx
