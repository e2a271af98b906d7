#pragma once

#include <map>
#include <string>

#include "models/onnx/onnx.h"

// Files of ONNX as a reader sees them, and what they compute: for tests of the writer.

namespace tape {

/// What a file says: its message taken apart by the numbers of onnx.proto. A failed expectation for what is no part of
/// the messages that are written here.
struct OnnxFile {
  int64_t ir_version = 0;
  std::string producer;
  OnnxModel model;  ///< tensors as they are stored
};
OnnxFile read_onnx(const std::string& path);

/// The outputs of a model, its operators called one by one as the tape's own. Throws std::invalid_argument for an
/// operator that no test needs.
std::map<std::string, Tensor> run_onnx(const OnnxModel& model, const std::map<std::string, Tensor>& inputs);

}  // namespace tape
