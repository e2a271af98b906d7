#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "../../base/file.h"
#include "../named_tensor.h"

namespace tape {

/// What a file of the safetensors format holds.
struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

/// Writes tensors of any dtype by name: 8 bytes with the header's length, the header in JSON filled up with
/// spaces to a multiple of 8, and the values, larger element types first and by name. The file is written beside,
/// flushed and renamed. Error (config) for an undefined tensor or a name that JSON cannot hold, Error (io) where the
/// disk refuses.
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
/// The same; Error (config) where two tensors have one name.
void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// A tensor of which nobody needs to have all: `give` writes its values, row-major, part by part.
struct TensorSource {
  DType dtype = f32;
  Shape shape = {};
  std::function<void(const Writer& write)> give = {};
};
TensorSource source_of(const Tensor& tensor);
/// The same of tensors that are given as they are written, in the order of in_data_order().
void save_safetensors(const std::string& path, const std::map<std::string, TensorSource>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
/// In the order of their values in a file: larger elements first, so that each is aligned, then by name.
std::vector<std::pair<std::string, TensorSource>> in_data_order(const std::map<std::string, TensorSource>& tensors);

/// Reads a file of tensors of F64, F32, F16, BF16, I64, I32, U8 and BOOL, each in its own dtype. All of the header is
/// checked against the size of the file before a tensor is allocated: Error (format) names the file,
/// the tensor and what is wrong, Error (dtype) a type that exists but is not read here, Error (io) a file that cannot
/// be read.
SafetensorsFile load_safetensors(const std::string& path);

}  // namespace tape
