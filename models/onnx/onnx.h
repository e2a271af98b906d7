#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../autograd/tensor.h"

// Writes ONNX (onnx.ai) files: a graph of operators with its tensors, for onnxruntime and compatible tools. Supports
// the parts of the format that models need: one graph, operators of the default domain, dense tensors.
namespace tape {

/// Value of an attribute of an operator.
using OnnxAttribute = std::variant<int64_t, float, std::vector<int64_t>>;

/// The format's code of a dtype (TensorProto.DataType), also an attribute of the operator Cast.
int64_t onnx_type(DType dtype);

/// An operator with its inputs and outputs by name; the input "" is an omitted optional one.
struct OnnxNode {
  std::string op;                                                      ///< "MatMul"
  std::string name;                                                    ///< shown in messages; may be empty
  std::vector<std::string> inputs,                                     ///< names of values
      outputs;                                                         ///< names of values, each defined once
  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {};  ///< names and values
};

/// A value stored in the file (an initializer).
struct OnnxTensor {
  std::string name;         ///< name of the value
  Tensor values;            ///< the values; converted to `stored` in the file
  DType stored;             ///< storage dtype: f16, bf16 or f32 for floating-point values, else values.dtype()
  bool transposed = false;  ///< whether a matrix is stored transposed
};

/// A size, or the name of one that may vary between calls.
using OnnxSize = std::variant<int64_t, std::string>;

/// An input or output of the graph.
struct OnnxValue {
  std::string name;             ///< name of the value
  DType dtype;                  ///< dtype of its elements
  std::vector<OnnxSize> shape;  ///< sizes of its axes
};

/// A graph to write.
struct OnnxModel {
  std::string name;                 ///< of the graph
  std::vector<OnnxNode> nodes;      ///< in an order in which each uses only values defined before it
  std::vector<OnnxTensor> tensors;  ///< initializers
  std::vector<OnnxValue> inputs,    ///< inputs of the graph
      outputs;                      ///< outputs of the graph
  int64_t opset = 17;  ///< operator version; 17 is the first with LayerNormalization (onnx 1.12, June 2022)
};

/// Options of save_onnx().
struct OnnxSaveOptions {
  /// If the tensors exceed this size, those of 1 KiB and more go to a second file, `path` + "_data". At most
  /// 2^31 - 2^20, because readers reject files of 2 GiB.
  int64_t max_inline_bytes = 2'000'000'000;
};

/// Writes a model as a file of IR version 8, one tensor after another, so that only one is copied at a time. Writes the
/// second file first; each is a temporary file that is flushed and renamed. Removes a second file of an earlier save if
/// it is not needed. Throws Error (config) naming a duplicate value, a value used before it is defined, or a tensor
/// that its storage dtype cannot represent (above 65504 in f16); (io).
void save_onnx(const std::string& path, const OnnxModel& model, const OnnxSaveOptions& options = {});

}  // namespace tape
