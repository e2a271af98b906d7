#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../autograd/tensor.h"

// GGUF files of llama.cpp and compatible tools: version 3, little-endian.
namespace tape {

/// Storage type of a tensor's values. In Q8_0 and Q4_0, 32 consecutive values share an f16 scale (34 and 18 bytes).
enum class GgufType { F32, F16, BF16, Q8_0, Q4_0 };
/// "F32", "F16", "BF16", "Q8_0", "Q4_0".
const char* to_string(GgufType type);

/// A metadata value. 8- and 16-bit integers are read as 32-bit ones.
using GgufValue =
    std::variant<uint32_t, int32_t, float, bool, std::string, uint64_t, int64_t, double, std::vector<uint32_t>,
                 std::vector<int32_t>, std::vector<float>, std::vector<std::string>>;
/// Keys and values in the order of the file.
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

/// A tensor of a file to write.
struct GgufTensor {
  std::string name;               ///< name of the tensor
  Tensor values;                  ///< f32 or f64, with one to four axes
  GgufType type = GgufType::F32;  ///< type in the file
};

/// Writes metadata and tensors in the given order, with values aligned to 32 bytes, to a temporary file that is flushed
/// and renamed. Rounding is ggml's: halves to even; Q8_0 scales by the largest |x| / 127, Q4_0 by the value of largest
/// magnitude / -8. Throws Error (config) for duplicate names, more than four axes, values that are not f32 or f64, and
/// rows of Q8_0 or Q4_0 that are not a multiple of 32 or contain NaN or infinity; (io).
void save_gguf(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors);

/// Content of a file.
struct GgufFile {
  std::map<std::string, GgufValue> metadata;  ///< values by key
  std::map<std::string, Tensor> tensors;      ///< converted to f32
};

/// Reads a file of version 2 or 3. The whole header is checked against the file's size before a tensor is allocated.
/// Throws Error (format) naming the file and the problem, (dtype) for a tensor or an entry of a known but unsupported
/// type, (io) for a file that cannot be read.
GgufFile load_gguf(const std::string& path);

}  // namespace tape
