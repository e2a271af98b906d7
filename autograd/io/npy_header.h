#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../dtype.h"
#include "../shape.h"

namespace tape::detail {

/// What stands in front of the values of a .npy file.
struct NpyHeader {
  Shape shape;           // as it was written; reversed it is that of the values in memory where fortran_order is set
  char kind = 'f';       // of NumPy's letters: f, i, u, b or V (bf16)
  int64_t element = 4;   // bytes
  bool swapped = false;  // big-endian
  bool fortran_order = false;
  int64_t data = 0;  // where the values begin
};

/// The bytes that say how long a header is: the magic, a version and a length of 2 or 4 bytes.
inline constexpr int64_t kNpyPrefix = 12;

/// How many bytes lie in front of the values, out of the first kNpyPrefix bytes of a file of `size` bytes (fewer where
/// the file has fewer). Errors begin with `where`.
int64_t npy_header_bytes(const std::string& where, std::string_view prefix, int64_t size);

/// Parses and checks these bytes.
NpyHeader parse_npy_header(const std::string& where, std::string_view bytes);

/// The bytes in front of the values of a tensor, filled up with spaces to a multiple of 64.
std::string make_npy_header(DType dtype, const Shape& shape);

}  // namespace tape::detail
