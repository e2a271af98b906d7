#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../dtype.h"
#include "../shape.h"

namespace tape::detail {

/// Header of a .npy file.
struct NpyHeader {
  Shape shape;           // as written; if fortran_order is set, the values in memory have the reversed shape
  char kind = 'f';       // NumPy's kind letter: f, i, u, b or V (bf16)
  int64_t element = 4;   // bytes per element
  bool swapped = false;  // big-endian
  bool fortran_order = false;
  int64_t data = 0;  // offset of the values
};

/// Number of bytes needed to read a header's length: magic, version and a length of 2 or 4 bytes.
inline constexpr int64_t kNpyPrefix = 12;

/// Returns the number of bytes before the values, from the first kNpyPrefix bytes of a file of `size` bytes (fewer if
/// the file is shorter). Errors begin with `where`.
int64_t npy_header_bytes(const std::string& where, std::string_view prefix, int64_t size);

/// Parses and checks these bytes.
NpyHeader parse_npy_header(const std::string& where, std::string_view bytes);

/// Returns the header of a tensor, padded with spaces to a multiple of 64 bytes.
std::string make_npy_header(DType dtype, const Shape& shape);

}  // namespace tape::detail
