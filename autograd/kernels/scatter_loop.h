#pragma once

#include "column_parts.h"

namespace tape::kernels::TAPE_LEVEL {

/// each(place, element): the element of [outer, count, inner] and its place index[o, c, i] in [outer, size, inner].
template <class Each>
TAPE_INLINE void for_places(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                            const Each& each) {
  for_columns(outer, count, inner, [&](int64_t o, int64_t first, int64_t columns) {
    if (inner == 1) {
      const int64_t begin = o * count, base = o * size;
      for (int64_t c = begin; c < begin + count; ++c) each(base + index[c], c);
      return;
    }
    for (int64_t c = 0; c < count; ++c) {
      const int64_t line = (o * count + c) * inner;
      for (int64_t i = first; i < first + columns; ++i) each((o * size + index[line + i]) * inner + i, line + i);
    }
  });
}

}  // namespace tape::kernels::TAPE_LEVEL
