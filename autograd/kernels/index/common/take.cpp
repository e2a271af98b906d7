#include "autograd/kernels/index/common/take.h"

#include <cstring>

#include "autograd/kernels/index/scatter_loop.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

void take_slices(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
                 const int64_t* index, void* y) {
  if (inner == 0) return;  // nothing to copy, however many lines there are
  with_size(element_size, [&]<class E>(E) {
    const E* from = static_cast<const E*>(x);
    E* to = static_cast<E*>(y);
    for_chunks(outer * count, inner, [&](int64_t begin, int64_t end) {
      // o and c are updated incrementally to avoid a division per line.
      int64_t o = begin / count, c = begin % count;
      for (int64_t line = begin; line < end; ++o, c = 0) {
        const E* rows = from + o * size * inner;
        const int64_t last = smaller(end, line + count - c);
        if (inner == 1)
          for (; line < last; ++line, ++c) to[line] = rows[index[c]];
        else
          for (; line < last; ++line, ++c)
            std::memcpy(to + line * inner, rows + index[c] * inner, static_cast<std::size_t>(inner) * sizeof(E));
      }
    });
  });
}

void gather(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
            const int64_t* index, void* y) {
  if (inner == 0) return;
  with_size(element_size, [&]<class E>(E) {
    const E* from = static_cast<const E*>(x);
    E* to = static_cast<E*>(y);
    for_chunks(outer * count, inner, [&](int64_t begin, int64_t end) {
      int64_t o = begin / count;
      for (int64_t line = begin; line < end; ++o) {
        const E* rows = from + o * size * inner;
        const int64_t last = smaller(end, (o + 1) * count);
        if (inner == 1)
          for (; line < last; ++line) to[line] = rows[index[line]];
        else
          for (; line < last; ++line)
            for (int64_t i = 0; i < inner; ++i) to[line * inner + i] = rows[index[line * inner + i] * inner + i];
      }
    });
  });
}

void put(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count, const int64_t* index,
         const void* y) {
  if (size == 0) return;
  with_size(element_size, [&]<class E>(E) {
    E* to = static_cast<E*>(x);
    const E* from = static_cast<const E*>(y);
    for_columns(outer, count, inner, [&](int64_t o, int64_t first, int64_t columns) {
      if (inner == 1) {
        for (int64_t c = 0; c < count; ++c) to[o * size + index[c]] = from[o * count + c];
        return;
      }
      for (int64_t c = 0; c < count; ++c) {
        E* place = to + (o * size + index[c]) * inner + first;
        const E* value = from + (o * count + c) * inner + first;
        std::memcpy(place, value, static_cast<std::size_t>(columns) * sizeof(E));
      }
    });
  });
}

void scatter(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
             const int64_t* index, const void* y) {
  with_size(element_size, [&]<class E>(E) {
    E* to = static_cast<E*>(x);
    const E* from = static_cast<const E*>(y);
    for_places(outer, size, inner, count, index, [=](int64_t place, int64_t at) { to[place] = from[at]; });
  });
}

void mark_last(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index, bool* last,
               bool* repeated) {
  int64_t found = 0;
  for_chunks(outer, count * inner, [&](int64_t begin, int64_t end) {
    Scratch<int64_t> latest(size * inner + 1);
    bool here = false;
    for (int64_t o = begin; o < end; ++o) {
      const int64_t* at = index + o * count * inner;
      bool* marks = last + o * count * inner;
      if (inner == 1) {
        for (int64_t c = 0; c < count; ++c) latest[at[c]] = c;
        for (int64_t c = 0; c < count; ++c) here |= !(marks[c] = latest[at[c]] == c);
        continue;
      }
      for (int64_t c = 0; c < count; ++c)
        for (int64_t i = 0; i < inner; ++i) latest[at[c * inner + i] * inner + i] = c;
      for (int64_t c = 0; c < count; ++c)
        for (int64_t i = 0; i < inner; ++i)
          here |= !(marks[c * inner + i] = latest[at[c * inner + i] * inner + i] == c);
    }
    if (here) __atomic_store_n(&found, 1, __ATOMIC_RELAXED);
  });
  if (repeated) *repeated = found != 0;
}

/// Whether every one of n indices is in [low, size). May report a false `no` for sizes above 2^62.
bool all_in_range(int64_t n, const int64_t* index, int64_t low, int64_t size) {
  int64_t bad = 0;
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    // The sign of size - 1 - i or i - low is set if i is out of range; four accumulators hide latency.
    const auto first = static_cast<uint64_t>(low), last = static_cast<uint64_t>(size) - 1;
    const auto signs = [=](int64_t i) {
      const auto at = static_cast<uint64_t>(index[i]);
      return (last - at) | (at - first);
    };
    uint64_t a = 0, b = 0, c = 0, d = 0;
    int64_t i = begin;
    for (; i + 4 <= end; i += 4) a |= signs(i), b |= signs(i + 1), c |= signs(i + 2), d |= signs(i + 3);
    for (; i < end; ++i) a |= signs(i);
    if ((a | b | c | d) >> 63) __atomic_store_n(&bad, 1, __ATOMIC_RELAXED);
  });
  return bad == 0;
}

void check_index(const IndexRange& r, const int64_t* index, int64_t* kept, int64_t number, Finding* finding) {
  for (int64_t line = 0; line < r.lines; ++line, index += r.stride, kept += kept ? r.count : 0) {
    if (finding->check == 0 && !all_in_range(r.count, index, r.low, r.size))
      for (int64_t i = 0; i < r.count && finding->check == 0; ++i)
        if (!r.accepts(index[i])) *finding = {number, line * r.count + i, index[i]};
    if (!kept) continue;
    for_chunks(r.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) kept[i] = r.kept(index[i]);
    });
  }
}

void check_flags(int64_t n, const bool* flags, int64_t number, Finding* finding) {
  if (finding->check || n == 0) return;
  const void* const first = std::memchr(flags, 1, static_cast<size_t>(n));
  if (first) *finding = {number, static_cast<const bool*>(first) - flags, 1};
}

void note_position(const int64_t* position, int64_t number, Finding* finding) {
  if (finding->check == 0 && *position >= 0) *finding = {number, *position, 0};
}

int64_t count_of_chunk(const bool* flags, int64_t begin, int64_t end) {
  // Eight flags at a time: the highest byte of the product is their sum.
  int64_t count = 0, i = begin;
  for (; i + 8 <= end; i += 8) {
    uint64_t eight;
    std::memcpy(&eight, flags + i, sizeof(eight));
    count += static_cast<int64_t>((eight * 0x0101010101010101U) >> 56);
  }
  for (; i < end; ++i) count += flags[i];
  return count;
}

void bincount(int64_t n, const int64_t* ids, int64_t* counts) {
  for (int64_t i = 0; i < n; ++i) ++counts[ids[i]];
}

void count_true(int64_t n, const bool* flags, int64_t* count) {
  *count = 0;
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    __atomic_fetch_add(count, count_of_chunk(flags, begin, end), __ATOMIC_RELAXED);
  });
}

void nonzero(int64_t n, const bool* flags, int64_t* places) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(flags);
  const int64_t chunks = ceil_div(n, kChunk);
  Scratch<int64_t> first(chunks + 1);
  for_tasks(chunks, chunks > 2, [&](int64_t chunk) {
    first[chunk + 1] = count_of_chunk(flags, chunk * kChunk, smaller(n, (chunk + 1) * kChunk));
  });
  first[0] = 0;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) first[chunk + 1] += first[chunk];
  for_tasks(chunks, chunks > 2, [&](int64_t chunk) {
    // No branch on the flag, which is unpredictable: an index written for an unset flag is overwritten.
    const int64_t* end = places + first[chunk + 1];
    int64_t* to = places + first[chunk];
    for (int64_t i = chunk * kChunk; to < end; ++i) {
      *to = i;
      to += bytes[i];
    }
  });
}

void unravel(int64_t n, const int64_t* positions, const Sizes& sizes, int64_t* index) {
  const int rank = sizes.rank;
  for_chunks(n, rank, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = positions[i];
      for (int d = rank - 1; d >= 0; --d) {
        index[i * rank + d] = rest % sizes.values[d];
        rest /= sizes.values[d];
      }
    }
  });
}
}  // namespace

extern const TakeKernels take = {.take = take_slices,
                                 .gather = gather,
                                 .put = put,
                                 .scatter = scatter,
                                 .mark_last = mark_last,
                                 .check_index = check_index,
                                 .check_flags = check_flags,
                                 .note_position = note_position,
                                 .bincount = bincount,
                                 .count_true = count_true,
                                 .nonzero = nonzero,
                                 .unravel = unravel};

}  // namespace tape::kernels::TAPE_LEVEL
