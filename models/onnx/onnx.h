#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../autograd/tensor.h"

// Files of ONNX (onnx.ai): a graph of operators with its tensors, for onnxruntime and its kin. What is written is the
// part of the format that models need: one graph, operators of the default domain, dense tensors.
namespace tape {

using OnnxAttribute = std::variant<int64_t, float, std::vector<int64_t>>;

/// What the format calls a dtype (TensorProto.DataType), which the operator Cast is told too.
int64_t onnx_type(DType dtype);

/// An operator with the values that it reads and makes, by name; an input that is "" is left out.
struct OnnxNode {
  std::string op;  ///< "MatMul"
  std::string name;
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, OnnxAttribute>> attributes = {};
};

/// A value that the file holds (an initializer).
struct OnnxTensor {
  std::string name;
  Tensor values;
  DType stored;             ///< what the file has it in: f16, bf16 or f32 of floating values, else values.dtype()
  bool transposed = false;  ///< a matrix whose rows are the file's columns
};

/// A size, or the name of one that each call chooses.
using OnnxSize = std::variant<int64_t, std::string>;

/// A value that a call gives, or gets back.
struct OnnxValue {
  std::string name;
  DType dtype;
  std::vector<OnnxSize> shape;
};

struct OnnxModel {
  std::string name;  ///< of the graph
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> tensors;
  std::vector<OnnxValue> inputs, outputs;
  int64_t opset = 17;  ///< version of the operators: 17 is the first with LayerNormalization (onnx 1.12, June 2022)
};

struct OnnxSaveOptions {
  /// A file whose tensors take more bytes than this has those of 1 KiB and more in a second one, `path` + "_data",
  /// beside it. At most 2^31 - 2^20: no reader takes a file of 2 GiB.
  int64_t max_inline_bytes = 2'000'000'000;
};

/// Writes a model as a file of IR version 8: the tensors one after another, so that none but the one being written is
/// held twice; the second file before the first, each beside, flushed and renamed. A second file that an earlier save
/// left and this one does not need is removed. Error (config) for a name that two values have, a value that is used
/// before it is made, and a tensor that its stored dtype does not hold (beyond 65504 in f16), naming it; (io).
void save_onnx(const std::string& path, const OnnxModel& model, const OnnxSaveOptions& options = {});

}  // namespace tape
