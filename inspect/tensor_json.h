#pragma once

#include <nlohmann/json_fwd.hpp>

#include "../autograd/tensor.h"

namespace tape::inspect {

/// The first elements of a tensor along each axis: the rest need not be kept to be shown.
struct Corner {
  Shape shape;    ///< of the whole
  Tensor values;  ///< undefined where the tensor was
};

/// At most `side` elements of the last two axes, and the first of those before; a copy where that is not all.
Corner corner_of(const Tensor& tensor, int64_t side);

/// A tensor as the pages read it: its shape, and its values as base64 of little-endian f32 in row-major order,
///
///     {"shape": [2, 30], "data": "...", "cut": [2, 24]}
///
/// where "cut", the shape of what is in the data, stands only where that is not all. null where it is undefined.
nlohmann::ordered_json tensor_json(const Tensor& tensor);
/// The same of a corner, or of a smaller one of it.
nlohmann::ordered_json tensor_json(const Corner& corner, int64_t side);

std::string base64(std::string_view bytes);

}  // namespace tape::inspect
