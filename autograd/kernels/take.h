#pragma once

#include <cstdint>

namespace tape::kernels {

// Indices are checked by the caller. x is [outer, size, inner] throughout, of elements of 1, 4 or 8 bytes.

/// y [outer, count, inner] = x[o, index[c], i]. Reads x and index, writes all of y.
void take(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
          const int64_t* index, void* y);
/// y [outer, count, inner] = x[o, index[o, c, i], i]. Reads x and index, writes all of y.
void gather(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
            const int64_t* index, void* y);
/// The first place whose index is outside [0, size), or -1.
int64_t first_outside(int64_t n, const int64_t* index, int64_t size);

}  // namespace tape::kernels
