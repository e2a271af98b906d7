#pragma once

#include <optional>

#include "../../tensor.h"

namespace tape {

// Reading and adding at positions given by an i64 tensor. Reads any dtype; sums and gradients are f32 or f64.
// Positions are 0 .. size - 1, or -size .. -1 counted from the end: Error (index) `gather: index 4 at position [1, 0]
// is outside [-4, 4)`. Ids of embedding and one_hot must not be negative. Error (dtype) for positions that are not i64,
// (shape) for an index or source that does not fit x.

/// y[.., c, ..] = x[.., index[.., c, ..], ..] along an axis; index has x's shape except on that axis.
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);
/// A copy of x with source[.., c, ..] added at [.., index[.., c, ..], ..]. index and source have the same shape, which
/// is x's except on the axis. Repeated positions accumulate.
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);

/// Selects the positions `index` [n] of an axis, whose size becomes n.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);
/// A copy of x with source[.., c, ..] added at [.., index[c], ..]. index is [n], source has x's shape with n on the
/// axis.
Tensor index_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);

/// Options of embedding().
struct EmbeddingOptions {
  std::optional<int64_t> padding_index = {};  ///< row without gradient; nn::Embedding also initializes it to zero
};
/// Rows of a table, y[..] = weight[ids[..]]: weight [V, C], ids [...] i64 -> [..., C] of the weight's dtype. Error
/// (index) `embedding: id 8000 at position [0, 3] is outside [0, 8000)`, (shape) for a weight that is not a matrix,
/// (dtype) for ids that are not i64, (config) for a padding_index outside the table.
Tensor embedding(const Tensor& weight, const Tensor& ids, const EmbeddingOptions& options = {});

/// ids [...] i64 -> [..., classes], 1 at each id and 0 elsewhere.
Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype = f32);

}  // namespace tape
