#pragma once

#include <functional>
#include <string>

#include "../tensor.h"

// Argument checks shared by operations of several families.
namespace tape {

/// Throws Error (dtype) `operation: dtypes differ: f32 and f64`.
void check_same_dtype(const char* operation, const Tensor& a, const Tensor& b);

/// The same, except that activations in 16 bits may meet f32 parameters.
void check_parameter_dtype(const char* operation, const Tensor& x, const Tensor& parameter);

/// Throws Error (shape) `operation: shapes differ: [2] and [3]`.
void check_same_shape(const char* operation, const Tensor& a, const Tensor& b);

/// Throws Error (dtype) `operation: needs a floating dtype, got i64`.
void check_floating(const char* operation, const Tensor& x);

/// Throws Error (dtype) for bool: `sub: bool cannot be subtracted: bool - i64; use logical_xor or logical_not`.
void check_subtraction(DType a, DType b);

/// Throws Error like linear() for operands that do not fit; the message names the operation.
void check_linear(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias);
/// Throws Error (shape) for a size beyond 32 bits, the limit of the matrix library.
void check_product_size(const char* operation, int64_t size);

/// Throws Error (config) `name: the probability must be in [0, 1), got p`.
void check_dropout(const char* name, double p);

/// Throws the Error, `operation: message`, if a flag is set; on a GPU as device_checks.h says. The message may depend
/// on the row-major position of the first one.
void check_none(ErrorKind kind, const char* operation, const Tensor& flags,
                std::function<std::string(int64_t position)> message);
void check_none(ErrorKind kind, const char* operation, const Tensor& flags, const char* message);

}  // namespace tape
