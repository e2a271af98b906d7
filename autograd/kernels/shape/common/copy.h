#pragma once

#include <cstdint>

namespace tape::kernels {

/// Gathers a strided view into a contiguous buffer: out is row-major over sizes; x is read at offset + sum(i * stride).
/// Strides are in elements and may be 0 or negative. element_size is 1, 2, 4 or 8. Two-dimensional transposes
/// (innermost stride not 1) are done in blocks.
///
/// A stride of 0 repeats: one element along all axes fills the buffer with it.
void copy_strided(int rank, const int64_t* sizes, const int64_t* strides, int64_t element_size, const void* x,
                  void* out);
/// The inverse: scatters a contiguous buffer into a strided place.
void copy_into_strided(int rank, const int64_t* sizes, const int64_t* strides, int64_t element_size, const void* x,
                       void* out);

/// Each of `rows` rows of `size` bytes with its last `right` bytes in front of the others.
void rotate_rows(int64_t rows, int64_t size, int64_t right, const void* x, void* out);

}  // namespace tape::kernels
