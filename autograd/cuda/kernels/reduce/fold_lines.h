#pragma once

// Reductions along the middle axis (FoldShape).

#include "../fold_shape.h"
#include "../lines.h"

/// y = combination of term(x, output) over the positions of each part; output is the index in [outer, inner].
template <class T, class Term, class Combine>
__device__ void fold_lines(const FoldShape& shape, const T* x, T* y, T start, const Term& term,
                           const Combine& combine) {
  for_lines(shape.outer * shape.parts * shape.inner, [&](int64_t line) {
    const int64_t i = line % shape.inner, part = line / shape.inner % shape.parts;
    const int64_t o = line / shape.inner / shape.parts, begin = part * shape.chunk;
    const T* const from = x + o * shape.size * shape.row + i;
    T value = start;
    for_positions(begin, min(shape.size, begin + shape.chunk),
                  [&](int64_t s) { value = combine(value, term(from[s * shape.row], o * shape.inner + i)); });
    value = over_line(value, combine);
    if (threadIdx.x == 0) y[line] = value;
  });
}

struct Unchanged {
  template <class T>
  __device__ T operator()(T v, int64_t) const {
    return v;
  }
};
