#include "autograd/kernels/shape/common/copy.h"

#include <cstring>

#include "autograd/kernels/runtime/level.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// A copy between two strided layouts. Axes of size 1 are dropped, and adjacent axes merged if both layouts allow it.
struct Plan {
  int rank = 0;
  int64_t sizes[kMaxRank] = {}, from[kMaxRank] = {}, to[kMaxRank] = {};
};

Plan make_plan(int rank, const int64_t* sizes, const int64_t* from, const int64_t* to) {
  Plan plan;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] == 1) continue;
    const int last = plan.rank - 1;
    if (last >= 0 && plan.from[last] == from[d] * sizes[d] && plan.to[last] == to[d] * sizes[d]) {
      plan.sizes[last] *= sizes[d];
    } else {
      plan.sizes[plan.rank++] = sizes[d];
    }
    plan.from[plan.rank - 1] = from[d];
    plan.to[plan.rank - 1] = to[d];
  }
  return plan;
}

/// Block size of a transpose, chosen so that every cache line touched on either side is fully used before it is
/// evicted: more lines than this, a power of two apart, would fall into too few L1 cache sets.
constexpr int64_t kBlock = 16;

template <class E>
void copy_matrix(int64_t rows, int64_t cols, const E* x, int64_t from_row, int64_t from_col, E* y, int64_t to_row,
                 int64_t to_col) {
  if (from_col == 1 && to_col == 1) {
    for (int64_t r = 0; r < rows; ++r)
      std::memcpy(y + r * to_row, x + r * from_row, static_cast<std::size_t>(cols) * sizeof(E));
    return;
  }
  if (from_col == 0 && to_col == 1) {
    for (int64_t r = 0; r < rows; ++r) {
      const E value = x[r * from_row];
      E* row = y + r * to_row;
#pragma omp simd
      for (int64_t c = 0; c < cols; ++c) row[c] = value;
    }
    return;
  }
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < cols; c0 += kBlock) {
      const int64_t r1 = smaller(rows, r0 + kBlock), c1 = smaller(cols, c0 + kBlock);
      for (int64_t r = r0; r < r1; ++r)
        for (int64_t c = c0; c < c1; ++c) y[r * to_row + c * to_col] = x[r * from_row + c * from_col];
    }
}

/// Inlined memcpy of a short run; the last step overlaps the previous one if the size is not a multiple of it.
TAPE_INLINE void copy_bytes(int64_t n, const char* x, char* y) {
  constexpr int64_t kStep = 32;
  if (n < kStep || n > 4096) {
    std::memcpy(y, x, static_cast<std::size_t>(n));
    return;
  }
  for (int64_t i = 0; i + kStep <= n; i += kStep) std::memcpy(y + i, x + i, kStep);
  std::memcpy(y + n - kStep, x + n - kStep, kStep);
}

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

/// Moves the axis with the smallest stride on the non-contiguous side next to the innermost one, so that the innermost
/// two axes form a transpose.
void pair_for_transpose(Plan& plan) {
  const int inner = plan.rank - 1;
  const int64_t* strides = magnitude(plan.from[inner]) == 1 ? plan.to : plan.from;
  if (strides[inner] == 1) return;
  int best = inner - 1;
  for (int d = 0; d < inner; ++d)
    if (strides[d] != 0 && (strides[best] == 0 || magnitude(strides[d]) < magnitude(strides[best]))) best = d;
  const auto exchange = [&](int64_t* values) {
    const int64_t value = values[best];
    values[best] = values[inner - 1];
    values[inner - 1] = value;
  };
  exchange(plan.sizes);
  exchange(plan.from);
  exchange(plan.to);
}

template <class E>
void copy_elements(Plan plan, const E* x, E* y) {
  if (plan.rank == 0) {
    *y = *x;
    return;
  }
  if (plan.rank > 1) pair_for_transpose(plan);
  const int outer_rank = plan.rank > 1 ? plan.rank - 2 : 0, inner = plan.rank - 1;
  const int64_t cols = plan.sizes[inner], rows = plan.rank > 1 ? plan.sizes[inner - 1] : 1;
  int64_t outer = 1;
  for (int d = 0; d < outer_rank; ++d) outer *= plan.sizes[d];
  // A task is some rows of one matrix; a single long row is split by columns.
  const int64_t width = rows == 1 ? smaller(cols, kChunk) : cols, parts = ceil_div(cols, width);
  const int64_t height = smaller(rows, larger(kBlock, kChunk / larger(1, width))), bands = ceil_div(rows, height);
  const int64_t grain = larger(1, kChunk / (width * height)), tasks = outer * bands * parts;
  for_tasks(ceil_div(tasks, grain), outer * rows * cols > 2 * kChunk, [&](int64_t group) {
    for (int64_t task = group * grain; task < smaller(tasks, (group + 1) * grain); ++task) {
      const int64_t column = task % parts * width, row = task / parts % bands * height;
      int64_t rest = task / parts / bands, from = column * plan.from[inner], to = column * plan.to[inner];
      if (plan.rank > 1) {
        from += row * plan.from[inner - 1];
        to += row * plan.to[inner - 1];
      }
      for (int d = outer_rank - 1; d >= 0; --d) {
        from += rest % plan.sizes[d] * plan.from[d];
        to += rest % plan.sizes[d] * plan.to[d];
        rest /= plan.sizes[d];
      }
      const int64_t from_row = plan.rank > 1 ? plan.from[inner - 1] : 0,
                    to_row = plan.rank > 1 ? plan.to[inner - 1] : 0;
      copy_matrix(smaller(height, rows - row), smaller(width, cols - column), x + from, from_row, plan.from[inner],
                  y + to, to_row, plan.to[inner]);
    }
  });
}

void copy_places(const Strided& from, const int64_t* to, int64_t element_size, const void* x, void* y) {
  for (int d = 0; d < from.rank; ++d)
    if (from.sizes[d] == 0) return;
  const Plan plan = make_plan(from.rank, from.sizes, from.strides, to);
  with_size(element_size, [&]<class E>(E) { copy_elements(plan, static_cast<const E*>(x), static_cast<E*>(y)); });
}

/// The contiguous layout of the same sizes.
Strided row_major(const Strided& places) {
  Strided whole = places;
  int64_t step = 1;
  for (int d = places.rank - 1; d >= 0; --d) {
    whole.strides[d] = step;
    step *= places.sizes[d];
  }
  return whole;
}

void from_strided(const Strided& places, int64_t element_size, const void* x, void* out) {
  copy_places(places, row_major(places).strides, element_size, x, out);
}

void to_strided(const Strided& places, int64_t element_size, const void* x, void* out) {
  copy_places(row_major(places), places.strides, element_size, x, out);
}

void fill(int64_t n, int64_t element_size, uint64_t element, void* out) {
  // A stride of 0 repeats the element.
  from_strided({.rank = 1, .sizes = {n}}, element_size, &element, out);
}

void rotate_rows(int64_t rows, int64_t size, int64_t right, const void* x, void* out) {
  for_chunks(rows, ceil_div(size, 4), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const char* from = static_cast<const char*>(x) + r * size;
      char* to = static_cast<char*>(out) + r * size;
      copy_bytes(size - right, from, to + right);
      copy_bytes(right, from + (size - right), to);
    }
  });
}
}  // namespace

extern const CopyKernels copy = {
    .from_strided = from_strided, .to_strided = to_strided, .fill = fill, .rotate_rows = rotate_rows};

}  // namespace tape::kernels::TAPE_LEVEL
