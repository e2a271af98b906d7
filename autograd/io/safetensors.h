#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "../../base/file.h"
#include "../named_tensor.h"

namespace tape {

/// Contents of a safetensors file.
struct SafetensorsFile {
  std::map<std::string, Tensor> tensors;        ///< by name, each in its own dtype
  std::map<std::string, std::string> metadata;  ///< the header's `__metadata__`; empty without it
};

/// Writes tensors of any dtype by name: 8 bytes with the header's length, the JSON header padded with spaces to a
/// multiple of 8, and the values, ordered by element size (largest first) and name. Writes to a temporary file that is
/// flushed and renamed. Throws Error (config) for an undefined tensor or a name that JSON cannot represent, Error (io)
/// if writing fails.
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
/// The same. Throws Error (config) if two tensors have the same name.
void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                      const std::map<std::string, std::string>& metadata = {});

/// A tensor that need not fit in memory: `give` writes its values in row-major order, part by part.
struct TensorSource {
  DType dtype = f32;  ///< of the values that `give` writes
  Shape shape = {};   ///< the same
  /// Passes all bytes of the values to `write`, in one or several calls.
  std::function<void(const Writer& write)> give = {};
};
/// A source that writes the values of a tensor, which it keeps alive.
TensorSource source_of(const Tensor& tensor);
/// The same for streamed tensors, in the order of in_file_order().
void save_safetensors(const std::string& path, const std::map<std::string, TensorSource>& tensors,
                      const std::map<std::string, std::string>& metadata = {});
/// Passes the bytes of such a file to `write`, part by part; `where` is its name in errors.
void write_safetensors(const Writer& write, const std::string& where,
                       const std::map<std::string, TensorSource>& tensors,
                       const std::map<std::string, std::string>& metadata = {});
/// Sorts tensors in file order: larger elements first, so that each is aligned, then by name.
std::vector<std::pair<std::string, TensorSource>> in_file_order(const std::map<std::string, TensorSource>& tensors);

/// Reads tensors of F64, F32, F16, BF16, I64, I32, U8 and BOOL, each in its own dtype. The whole header is checked
/// against the size of the file before a tensor is allocated. Throws Error (format) with the file, the tensor and the
/// problem, Error (dtype) for a dtype of the format that is not supported, Error (io) if the file cannot be read.
SafetensorsFile load_safetensors(const std::string& path);

}  // namespace tape
