#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../dtype.h"
#include "../shape.h"

namespace tape::detail {

/// A tensor's entry in the header; offsets count from the end of the header.
struct StoredTensor {
  std::string name;
  DType dtype;
  Shape shape;
  int64_t begin;
  int64_t end;
};

struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

/// Returns the name of a dtype in a header.
std::string_view stored_name(DType dtype);

/// Parses and checks a header that is followed by `data_bytes` of values. Errors begin with `path`.
SafetensorsHeader parse_safetensors_header(const std::string& path, std::string_view text, int64_t data_bytes);

}  // namespace tape::detail
