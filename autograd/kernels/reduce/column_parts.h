#pragma once

#include "../runtime/level.h"

namespace tape::kernels::TAPE_LEVEL {

/// As many columns as a visit of for_columns() has at most.
inline constexpr int64_t kMostColumns = 512;

/// visit(o, first column, columns) for all columns of each of `outer` matrices [count, inner]. Where there is one
/// matrix, its columns are shared among threads in narrower parts. Whoever goes through the rows of a visit in their
/// order gives the same bits for every number of threads. `cost` values of work an element.
template <class Visit>
TAPE_INLINE void for_columns(int64_t outer, int64_t count, int64_t inner, const Visit& visit, int64_t cost = 1) {
  const int64_t width = outer > 1 ? kMostColumns : 64, parts = divide_up(inner, width);
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
