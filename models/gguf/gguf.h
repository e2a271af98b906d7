#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../autograd/tensor.h"

// Files of llama.cpp and its kin: GGUF, version 3, little-endian.
namespace tape {

/// How a tensor's values are stored. Of Q8_0 and Q4_0, 32 values behind each other share an f16 scale (34 and 18
/// bytes).
enum class GgufType { F32, F16, BF16, Q8_0, Q4_0 };
/// "F32", "F16", "BF16", "Q8_0", "Q4_0".
const char* to_string(GgufType type);

/// One entry of the metadata. Whole numbers of 8 and 16 bits are read as those of 32.
using GgufValue =
    std::variant<uint32_t, int32_t, float, bool, std::string, uint64_t, int64_t, double, std::vector<uint32_t>,
                 std::vector<int32_t>, std::vector<float>, std::vector<std::string>>;
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;

struct GgufTensor {
  std::string name;
  Tensor values;  ///< f32 or f64, of one to four axes
  GgufType type = GgufType::F32;
};

/// Writes metadata and tensors, both in their order, the values at multiples of 32 bytes: beside, flushed and renamed.
/// Rounding is ggml's: halves to the nearest even; Q8_0 scales by the largest |x| / 127, Q4_0 by the value of the
/// largest size / -8. Error (config) for two entries of a name, more than four axes, values that are no f32 or f64, and
/// rows of Q8_0 or Q4_0 that are no multiple of 32 or hold NaN or infinity; Error (io).
void save_gguf(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors);

struct GgufFile {
  std::map<std::string, GgufValue> metadata;
  std::map<std::string, Tensor> tensors;  ///< f32, whatever they were stored as
};

/// Reads a file of version 2 or 3. All of the header is checked against the size of the file before a tensor is
/// allocated: Error (format) names the file and what is wrong, Error (dtype) a tensor or an entry of a type that exists
/// but is not read here, Error (io) a file that cannot be read.
GgufFile load_gguf(const std::string& path);

}  // namespace tape
