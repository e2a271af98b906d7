#pragma once

#include <map>
#include <string>

#include "models/onnx/onnx.h"

// Reads and runs ONNX files, to test the writer.

namespace tape {

/// Contents of a file, parsed by the field numbers of onnx.proto. Fails the test for fields that the writer does not
/// write.
struct OnnxFile {
  int64_t ir_version = 0;
  std::string producer;
  OnnxModel model;  ///< tensors in their stored form
};
OnnxFile read_onnx(const std::string& path);

/// Returns the outputs of a model, run operator by operator with the tape's operations. Throws std::invalid_argument
/// for an unsupported operator.
std::map<std::string, Tensor> run_onnx(const OnnxModel& model, const std::map<std::string, Tensor>& inputs);

}  // namespace tape
