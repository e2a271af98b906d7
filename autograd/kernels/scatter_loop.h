#pragma once

#include "level.h"

namespace tape::kernels::TAPE_LEVEL {

/// visit(o, first column, columns) for every outer index. Where there is one of them, a task has a part of the columns:
/// in either case repeated places are visited in their order, whatever the number of threads.
template <class Visit>
TAPE_INLINE void for_columns(int64_t outer, int64_t count, int64_t inner, const Visit& visit) {
  if (inner == 0 || count == 0) return;
  if (outer > 1) {
    for_chunks(outer, count * inner, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) visit(o, int64_t{0}, inner);
    });
    return;
  }
  constexpr int64_t kColumns = 64;
  const int64_t parts = divide_up(inner, kColumns);
  for_tasks(outer * parts, count * inner > 2 * kChunk, [&](int64_t part) {
    const int64_t first = part * kColumns;
    visit(int64_t{0}, first, smaller(kColumns, inner - first));
  });
}

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
