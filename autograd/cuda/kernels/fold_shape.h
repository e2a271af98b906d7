#pragma once

#include <stdint.h>

/// x [outer, size, inner], with `row` values from one position to the next, reduced to y [outer, parts, inner]: each
/// output over at most `chunk` positions.
struct FoldShape {
  int64_t outer, size, inner, row, parts, chunk;
};
