#pragma once

#include "../reduce/column_parts.h"

namespace tape::kernels::TAPE_LEVEL {

/// Cost of a write to an arbitrary index, in sequential writes.
inline constexpr int64_t kScatterCost = 4;

/// Calls each(place, element) for the elements of [outer, count, inner], where place is the position index[o, c, i] in
/// [outer, size, inner]. start(o, first column, columns) is called before the elements of these columns.
template <class Start, class Each>
TAPE_INLINE void for_places(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                            const Start& start, const Each& each) {
  if (size == 0) return;  // there are no positions, however many columns there are
  const auto visit = [&](int64_t o, int64_t first, int64_t columns) {
    start(o, first, columns);
    if (inner == 1) {
      const int64_t begin = o * count, base = o * size;
      for (int64_t c = begin; c < begin + count; ++c) each(base + index[c], c);
      return;
    }
    for (int64_t c = 0; c < count; ++c) {
      const int64_t line = (o * count + c) * inner;
      for (int64_t i = first; i < first + columns; ++i) each((o * size + index[line + i]) * inner + i, line + i);
    }
  };
  for_columns(outer, count, inner, visit, kScatterCost);
}
template <class Each>
TAPE_INLINE void for_places(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index,
                            const Each& each) {
  for_places(
      outer, size, inner, count, index, [](int64_t, int64_t, int64_t) {}, each);
}

}  // namespace tape::kernels::TAPE_LEVEL
