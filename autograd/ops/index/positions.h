#pragma once

#include <optional>
#include <string>

#include "../../tensor.h"

// Checks shared by operations that read and write at positions.
namespace tape {

/// Position of element `flat` of a tensor as text: "3" for a vector, "[1, 0]" for more axes.
std::string position_text(const Shape& shape, int64_t flat);

/// Positions along an axis of `size`, with negative ones counted from the end made non-negative. Throws Error (dtype)
/// unless they are i64, (index) `operation: index 4 at position [1, 0] is outside [-4, 4)`.
Tensor wrapped_index(const char* operation, const Tensor& index, int64_t size);
/// Values other than `ignored` that are in [0, size): the tensor itself, or where the host does not wait for the check
/// (device_checks.h) a copy that is 0 at others. Throws the same Errors; `what` replaces "index" in the message.
Tensor checked_index(const char* operation, const char* what, const Tensor& index, int64_t size,
                     std::optional<int64_t> ignored = std::nullopt);
/// Throws Error (shape) unless `part` has x's shape except on the axis.
void check_fits(const char* operation, const char* what, const Tensor& part, const Tensor& x, int64_t axis);
/// Throws Error (shape) unless index and source have the same shape, which is x's except on the axis; Error (dtype)
/// unless source has x's dtype.
void check_scattered(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// scatter_add() as part of another operation, whose name errors give.
Tensor scatter_sum(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// wrapped_index() for slices of the source that are written to x. Error (dtype) unless source has x's dtype; Error
/// (shape) unless the index has one axis, source has one slice per index, and all other sizes match x.
Tensor wrapped_slices(const char* operation, const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
/// Throws Error (shape) unless the index has one axis.
void check_vector(const char* operation, const Tensor& index);

}  // namespace tape
