#pragma once

#include <map>
#include <string>
#include <vector>

#include "../../nn/module/module.h"
#include "onnx.h"

/// How models become graphs of ONNX: a function for each kind of layer (layers.h, attention.h, stacks.h), of which the
/// models' own (models.h) are made.
namespace tape::models::onnx {

/// A value of a graph, by its name; undefined where there is none.
struct Value {
  std::string name;
  bool defined() const { return !name.empty(); }
};

/// A graph that grows operator by operator. Everything is computed in f32; matrices may be stored in half of it.
class Graph {
 public:
  /// `stored` is what matrices and tables are stored as: f32, f16 or bf16; vectors stay f32.
  explicit Graph(DType stored);

  /// A value that each call gives.
  Value input(const std::string& name, DType dtype, const std::vector<OnnxSize>& shape);
  /// A value that each call gets back.
  void output(const std::string& name, const Value& value, const std::vector<OnnxSize>& shape);

  // What the file holds: stored once, however often it is asked for and whatever parameters are tied.
  Value vector(const std::string& name, const Tensor& values);
  /// Of any form, in f32.
  Value array(const std::string& name, const Tensor& values);
  /// A weight [out, in] as x [..., in] is multiplied by it: [in, out].
  Value transposed(const std::string& name, const Tensor& weight);
  /// Rows of a table [V, C], by ids.
  Value rows(const std::string& name, const Tensor& table, const Value& ids);

  // Constants, each stored once.
  Value number(double value);
  Value whole(int64_t value);
  Value wholes(const std::vector<int64_t>& values);
  Value constant(const Tensor& values);

  // Operators; `op` is for those with one output and no short name.
  using Attributes = std::vector<std::pair<std::string, OnnxAttribute>>;
  Value op(const std::string& type, const std::vector<Value>& inputs, const Attributes& attributes = {});
  /// Columns, that is parts of the last axis.
  std::vector<Value> split(const Value& x, const std::vector<int64_t>& columns);
  Value add(const Value& a, const Value& b) { return op("Add", {a, b}); }
  Value subtract(const Value& a, const Value& b) { return op("Sub", {a, b}); }
  Value multiply(const Value& a, const Value& b) { return op("Mul", {a, b}); }
  Value divide(const Value& a, const Value& b) { return op("Div", {a, b}); }
  Value matmul(const Value& a, const Value& b) { return op("MatMul", {a, b}); }
  /// 0 takes the size of x at that axis, -1 what is left.
  Value reshape(const Value& x, const std::vector<int64_t>& shape) { return op("Reshape", {x, wholes(shape)}); }
  Value permute(const Value& x, const std::vector<int64_t>& axes) { return op("Transpose", {x}, {{"perm", axes}}); }
  Value unsqueeze(const Value& x, const std::vector<int64_t>& axes) { return op("Unsqueeze", {x, wholes(axes)}); }
  Value concat(const std::vector<Value>& parts, int64_t axis) { return op("Concat", parts, {{"axis", axis}}); }
  Value cast(const Value& x, DType to);
  /// The size of an axis, as a number without axes.
  Value size(const Value& x, int64_t axis);

  /// Where the next operators and tensors belong: "encoder.layers.0.self_attention".
  const std::string& path() const { return path_; }
  [[noreturn]] Value refuse(const std::string& what) const;
  OnnxModel take(const std::string& name);

 private:
  friend class Inside;

  /// A tensor in the file, and what was made of it.
  struct Held {
    Value stored;
    bool transposed;
    Value wide;   // in f32
    Value other;  // with its axes exchanged, in f32
  };
  std::string path_to(const std::string& name) const;
  Held& held(const std::string& name, const Tensor& values, bool transposed);
  Value wide(Held& held);
  std::string node_name(const std::string& op);

  OnnxModel model_;
  DType stored_;
  std::string path_;
  std::map<std::pair<const void*, std::string>, Held> held_;  // by place and shape
  std::map<std::pair<DType, std::string>, Value> constants_;  // by shape and bytes
  std::map<std::string, int64_t> used_;                       // how many nodes have a name
};

/// While in scope, operators and tensors belong to a module; to the whole model without one.
class Inside {
 public:
  Inside(Graph& graph, const nn::Module& module);
  explicit Inside(Graph& graph);
  ~Inside();
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Graph& graph_;
  std::string before_;
};

}  // namespace tape::models::onnx
