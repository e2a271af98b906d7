#pragma once

#include "elementwise.h"

namespace tape::kernels {

// What elementwise.h has for floating-point numbers, for whole ones, and choices between values of any type: plain
// loops, compiled once for every CPU.

/// out = op(a, b), broadcast. Reads a and b, writes every element of out, which may be a or b where that operand is not
/// repeated. Overflow wraps; division by zero and pow are refused by the caller.
void binary_i64(Binary op, const Broadcast& plan, const int64_t* a, const int64_t* b, int64_t* out);
/// out = a op b, broadcast. Reads a and b, writes every element of out.
void compare_i64(Compare op, const Broadcast& plan, const int64_t* a, const int64_t* b, bool* out);
/// out = c ? a : b, broadcast, for elements of 1, 4 or 8 bytes. Reads a, b and the condition c (strides[2]), writes
/// every element of out.
void where_bytes(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out);

}  // namespace tape::kernels
