#pragma once

#include "../runtime/level.h"

namespace tape::kernels::TAPE_LEVEL {

/// Maximum number of columns per visit of for_columns().
inline constexpr int64_t kMostColumns = 512;

/// Calls visit(o, first column, columns) for all columns of each of `outer` matrices [count, inner]. A single matrix is
/// split into narrower parts to use all threads. A visit that processes rows in order gives the same bits for any
/// number of threads. `cost` is the work per element.
template <class Visit>
TAPE_INLINE void for_columns(int64_t outer, int64_t count, int64_t inner, const Visit& visit, int64_t cost = 1) {
  const int64_t width = outer > 1 ? kMostColumns : 64, parts = ceil_div(inner, width);
  for_chunks(outer * parts, count * smaller(inner, width) * cost, [&](int64_t begin, int64_t end) {
    int64_t o = begin / parts, first = begin % parts * width;
    for (int64_t task = begin; task < end; ++task) {
      visit(o, first, smaller(width, inner - first));
      first += width;
      if (first >= inner) ++o, first = 0;
    }
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
