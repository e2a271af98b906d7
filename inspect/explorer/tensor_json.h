#pragma once

#include <nlohmann/json_fwd.hpp>

#include "../../autograd/tensor.h"

namespace tape::inspect {

/// What may be truncated if a page becomes too large.
enum class Keep { all, activation, parameter };

/// The part of a tensor that is shown: all of it, or its leading elements along some axes. The rest can be freed.
struct Excerpt {
  Shape shape = {};                    ///< of the whole tensor
  Tensor values = {};                  ///< the stored part; undefined if the tensor was
  std::vector<int64_t> columns = {};   ///< indices along the last axis, if not the leading ones
  double low = 0, high = 0, norm = 0;  ///< range and norm of the whole tensor's finite values, if truncated
  Keep keep = Keep::activation;
  bool rows_first = false;  ///< truncate the last axis before the second-to-last
  size_t hash = 0;          ///< content_hash() of `values`

  bool is_whole() const { return values.defined() && values.shape() == shape; }
};

/// Shape of the part to store of a tensor, with at most `most` elements. Keeps all leading axes as long as the last two
/// keep 16 elements; of these two, as many rows as columns, or all of one and more of the other. With `rows_first`
/// keeps all rows if one column of them fits.
Shape truncated_shape(const Shape& shape, int64_t most, bool rows_first = false);

/// Returns the leading part of a tensor with at most `most` elements; a copy unless it is the whole tensor.
Excerpt excerpt_of(const Tensor& tensor, int64_t most, Keep keep = Keep::activation, bool rows_first = false);
/// Returns the given indices of the last axis, and all of the other axes.
Excerpt columns_of(const Tensor& tensor, const std::vector<int64_t>& columns);

/// Returns a tensor in the pages' format: its shape, and its values as base64 of little-endian f32 in row-major order,
///
///     {"shape": [2, 30], "data": "...", "cut": [2, 24], "low": -1.5, "high": 2, "norm": 9.1}
///
/// If the data is truncated, "cut" is its shape, and range and norm are those of the whole tensor; "columns" lists the
/// indices along the last axis if they are not the leading ones. null if the tensor is undefined.
nlohmann::ordered_json tensor_json(const Tensor& tensor);
/// The same for an excerpt, truncated to at most `most` elements.
nlohmann::ordered_json tensor_json(const Excerpt& excerpt, int64_t most);
/// Hash of the values in order; independent of the shape.
size_t content_hash(const Tensor& tensor);

std::string base64(std::string_view bytes);

}  // namespace tape::inspect
