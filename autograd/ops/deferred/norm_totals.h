#pragma once

#include "calls.h"

namespace tape {

// The gradients of a norm's weight and bias are deferred (calls.h). The backward pass sums over parts of the rows; the
// totals of norms of one size, as those of a model's layers, are one launch when the first of them is used, as by an
// optimizer.

/// Remembers that dweight and dbias [cols], of which one may be undefined, are the totals of `sums` [parts, 2, cols].
void defer_norm_totals(const KernelCall& at, const Tensor& sums, Tensor& dweight, Tensor& dbias);

}  // namespace tape
