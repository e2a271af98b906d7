#pragma once

#include "../../tensor.h"

namespace tape {

// Order along an axis; f32 and f64 (Error (dtype) for others). Gradients flow through values, not through indices.
// Error (index) for an axis that x does not have.

/// Values with the positions (i64) that they came from.
struct TopK {
  Tensor values;
  Tensor indices;
};

struct TopKOptions {
  bool largest = true;  ///< or the smallest
};
/// The k best along an axis, whose size becomes k, best first; of equal ones the first. NaN counts as larger than every
/// number, as in argmax() and in PyTorch. Error (config) for k outside 0 .. size.
TopK topk(const Tensor& x, int64_t k, int64_t axis = -1, const TopKOptions& options = {});

struct SortOptions {
  bool descending = false;
};
/// All values in order; equal ones keep theirs. NaN counts as larger than every number: it comes last, and first where
/// the order is descending.
TopK sort(const Tensor& x, int64_t axis = -1, const SortOptions& options = {});
/// The positions (i64) that sort() would take the values from.
Tensor argsort(const Tensor& x, int64_t axis = -1, const SortOptions& options = {});

struct CumsumOptions {
  bool reverse = false;  ///< sums from the end
};
/// y[i] = x[0] + ... + x[i] along an axis.
Tensor cumsum(const Tensor& x, int64_t axis, const CumsumOptions& options = {});

}  // namespace tape
