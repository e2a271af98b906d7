#pragma once

#include <nlohmann/json_fwd.hpp>

#include "../autograd/tensor.h"

namespace tape::inspect {

/// How gladly a page that becomes too large keeps less of a tensor.
enum class Keep { all, activation, parameter };

/// What of a tensor is shown: all of it, or its first places along some axes; the rest need not be kept.
struct Excerpt {
  Shape shape = {};                    ///< of the whole
  Tensor values = {};                  ///< what is kept; undefined where the tensor was
  std::vector<int64_t> columns = {};   ///< which places of the last axis, where not the first ones
  double low = 0, high = 0, norm = 0;  ///< of what is finite in the whole, where not all is kept
  Keep keep = Keep::activation;
  bool rows_first = false;  ///< cut along the last axis, while that has places, before the one in front of it

  bool is_whole() const { return values.defined() && values.shape() == shape; }
};

/// The shape that is kept of a tensor of which at most `most` elements are: all of the axes in front while the last two
/// keep 16 elements, of these as many rows as columns, or all of the one and more of the other; with `rows_first` all
/// of the rows where one column of them fits.
Shape kept_shape(const Shape& shape, int64_t most, bool rows_first = false);

/// The first places of a tensor, at most `most` elements; a copy where that is not all.
Excerpt excerpt_of(const Tensor& tensor, int64_t most, Keep keep = Keep::activation, bool rows_first = false);
/// These places of the last axis, and all of the others.
Excerpt columns_of(const Tensor& tensor, const std::vector<int64_t>& columns);

/// A tensor as the pages read it: its shape, and its values as base64 of little-endian f32 in row-major order,
///
///     {"shape": [2, 30], "data": "...", "cut": [2, 24], "low": -1.5, "high": 2, "norm": 9.1}
///
/// where "cut", the shape of what is in the data, stands only where that is not all, with the range and the norm of the
/// whole, and "columns", which places of the last axis these are, where they are not the first. null where it is
/// undefined.
nlohmann::ordered_json tensor_json(const Tensor& tensor);
/// The same of an excerpt, or of at most `most` elements of it.
nlohmann::ordered_json tensor_json(const Excerpt& excerpt, int64_t most);

/// The same for the same values in the same order, whatever their shape.
size_t content_hash(const Tensor& tensor);

std::string base64(std::string_view bytes);

}  // namespace tape::inspect
