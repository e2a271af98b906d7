#pragma once

#include <string>

#include "../../tensor.h"

// What operations that read and write at positions share.
namespace tape {

/// Where element `flat` of a tensor lies: "3" for a vector, "[1, 0]" for more axes.
std::string position_text(const Shape& shape, int64_t flat);

/// The positions along an axis of `size`, from 0: negative ones count from the end. Throws Error (dtype) unless they
/// are i64 and (index) `operation: index 4 at position [1, 0] is outside [-4, 4)`.
Tensor wrapped_index(const char* operation, const Tensor& index, int64_t size);
/// Throws the same Errors, `what` in the place of "index", for a position outside [0, size).
void check_index(const char* operation, const char* what, const Tensor& index, int64_t size);
/// Throws Error (shape) unless `part` has x's shape but for the axis.
void check_fits(const char* operation, const char* what, const Tensor& part, const Tensor& x, int64_t axis);
/// Throws Error (dtype), (shape) unless index and source have one shape, x's but for the axis, and one dtype is x's and
/// the source's.
void check_scattered(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// scatter_add() in the name of an operation that is made of it.
Tensor scatter_sum(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// wrapped_index() for slices of the source that are written to x. Error (dtype) unless source has x's dtype; Error
/// (shape) unless the index has one axis, source has one slice per index, and all other sizes are those of x.
Tensor wrapped_slices(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// Throws Error (shape) unless the index has one axis.
void check_vector(const char* operation, const Tensor& index);

}  // namespace tape
