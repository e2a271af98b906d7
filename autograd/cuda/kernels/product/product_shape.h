#pragma once

#include <stdint.h>

/// c [m, n] = op(a) op(b) + bias, or c += that; op(a) is [m, k]. Offsets are those of one product in a batch.
struct ProductShape {
  int64_t m, n, k, lda, ldb, ldc;
  int64_t batch;  // number of products
  bool transpose_a, transpose_b, accumulate;
};
