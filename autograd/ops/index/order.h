#pragma once

#include "../../tensor.h"

namespace tape {

// Sorting along an axis; floating dtypes (Error (dtype) for others). Gradients flow through values, not indices. Error
// (index) for an axis that x does not have.

/// Values and their original positions (i64).
struct TopK {
  Tensor values;   ///< of x's dtype
  Tensor indices;  ///< i64, of the same shape: positions along the axis; no gradient
};

/// Options of topk().
struct TopKOptions {
  bool largest = true;  ///< otherwise the smallest
};
/// The k largest or smallest values along an axis, whose size becomes k, best first; of equal values the first. NaN is
/// larger than all other values, as in argmax() and in PyTorch. Error (config) for k outside 0 .. size.
TopK topk(const Tensor& x, int64_t k, int64_t axis = -1, const TopKOptions& options = {});

/// Options of sort() and argsort().
struct SortOptions {
  bool descending = false;  ///< largest value first
};
/// Stable sort. NaN is larger than all other values: last, or first if descending.
TopK sort(const Tensor& x, int64_t axis = -1, const SortOptions& options = {});
/// The positions (i64) from which sort() takes the values.
Tensor argsort(const Tensor& x, int64_t axis = -1, const SortOptions& options = {});

/// Options of cumsum().
struct CumsumOptions {
  bool reverse = false;  ///< sum from the end
};
/// y[i] = x[0] + ... + x[i] along an axis.
Tensor cumsum(const Tensor& x, int64_t axis, const CumsumOptions& options = {});

}  // namespace tape
