#include "autograd/kernels/shape/common/copy.h"

#include <algorithm>
#include <utility>

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const SizedKernels kCopyStrided = TAPE_SIZED_KERNELS(copy_strided);
constinit const SizedKernels kCopyTransposed = TAPE_SIZED_KERNELS(copy_transposed);
constinit const SizedKernels kFill = TAPE_SIZED_KERNELS(fill);
constinit const SizedKernels kRotateRows = TAPE_SIZED_KERNELS(rotate_rows);

/// Two layouts of the same sizes.
struct Layouts {
  Strided from, to;
};

int64_t count(const Strided& places) {
  int64_t n = 1;
  for (int d = 0; d < places.rank; ++d) n *= places.sizes[d];
  return n;
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

/// Drops axes of size 1, and merges adjacent ones where both layouts allow it.
Layouts merged(const Strided& from, const Strided& to) {
  Layouts plan;
  int rank = 0;
  for (int d = 0; d < from.rank; ++d) {
    const int64_t size = from.sizes[d], step = from.strides[d], step_to = to.strides[d];
    if (size == 1) continue;
    const int last = rank - 1;
    if (last >= 0 && plan.from.strides[last] == step * size && plan.to.strides[last] == step_to * size)
      plan.from.sizes[last] *= size;
    else
      plan.from.sizes[rank++] = size;
    plan.from.strides[rank - 1] = step;
    plan.to.strides[rank - 1] = step_to;
  }
  plan.from.rank = plan.to.rank = rank;
  std::copy_n(plan.from.sizes, rank, plan.to.sizes);
  return plan;
}

/// Reorders a copy whose two sides have different contiguous axes as [batch, rows, cols], with columns contiguous in
/// `from` and rows in `to`. False if it is none, or has more axes.
bool as_transpose(Layouts& plan) {
  const int rank = plan.from.rank;
  if (rank < 2 || rank > 3) return false;
  int col = -1, row = -1;
  for (int d = 0; d < rank; ++d) {
    if (plan.from.strides[d] == 1) col = d;
    if (plan.to.strides[d] == 1) row = d;
  }
  if (col < 0 || row < 0 || col == row) return false;
  const int order[3] = {3 - col - row, row, col};
  Layouts ordered = {.from = {.rank = 3}, .to = {.rank = 3}};
  for (int d = 0; d < 3; ++d) {
    const bool present = order[d] < rank;  // the batch of a matrix is not
    ordered.from.sizes[d] = ordered.to.sizes[d] = present ? plan.from.sizes[order[d]] : 1;
    ordered.from.strides[d] = present ? plan.from.strides[order[d]] : 0;
    ordered.to.strides[d] = present ? plan.to.strides[order[d]] : 0;
  }
  plan = ordered;
  return true;
}

/// Makes units of twice the size of the elements, if rows consist of such.
bool widen(Layouts& plan) {
  const int last = plan.from.rank - 1;
  if (plan.from.strides[last] != 1 || plan.to.strides[last] != 1 || plan.from.sizes[last] % 2 != 0) return false;
  for (int d = 0; d < last; ++d)
    if (plan.from.strides[d] % 2 != 0 || plan.to.strides[d] % 2 != 0) return false;
  for (Strided* const side : {&plan.from, &plan.to}) {
    side->sizes[last] /= 2;
    for (int d = 0; d < last; ++d) side->strides[d] /= 2;
  }
  return true;
}

template <class E>
void launch_copy(int64_t n, Layouts plan, const void* from, void* to) {
  const auto* x = static_cast<const E*>(from);
  auto* y = static_cast<E*>(to);
  if (!as_transpose(plan)) return launch_elements(kCopyStrided.of(sizeof(E)), n, n, plan.from, plan.to, x, y);
  const int64_t* sizes = plan.from.sizes;
  const int64_t tiles = sizes[0] * ((sizes[1] + 31) / 32) * ((sizes[2] + 31) / 32);
  kCopyTransposed.of(sizeof(E))({static_cast<uint32_t>(std::min<int64_t>(tiles, 1 << 16))}, {32, 8}, plan.from, plan.to,
                                x, y);
}

/// Calls function(E()) with an unsigned type of this size.
template <class F>
void with_size(int64_t element_size, const F& function) {
  if (element_size == 1) return function(uint8_t());
  if (element_size == 2) return function(uint16_t());
  if (element_size == 4) return function(uint32_t());
  function(uint64_t());
}

void copy_places(const Strided& from, const Strided& to, int64_t element_size, const void* x, void* y) {
  int64_t n = count(from);
  if (n == 0) return;
  Layouts plan = merged(from, to);
  if (plan.from.rank == 0 || (plan.from.rank == 1 && plan.from.strides[0] == 1 && plan.to.strides[0] == 1))
    return cuda_device::copy_on_device(y, x, n * element_size);
  while (element_size < 8 && begin_at_multiples(2 * element_size, x, y) && widen(plan)) {
    element_size *= 2;
    n /= 2;
  }
  with_size(element_size, [&](auto element) { launch_copy<decltype(element)>(n, plan, x, y); });
}

void from_strided(const Strided& places, int64_t element_size, const void* x, void* out) {
  copy_places(places, row_major(places), element_size, x, out);
}

void to_strided(const Strided& places, int64_t element_size, const void* x, void* out) {
  copy_places(row_major(places), places, element_size, x, out);
}

void fill(int64_t n, int64_t element_size, uint64_t element, void* out) {
  launch_elements(kFill.of(element_size), n, n, element, out);
}

void rotate_rows(int64_t rows, int64_t size, int64_t right, const void* x, void* out) {
  // The largest unit that rows and rotations are multiples of; a tensor may begin anywhere in its storage.
  const auto all =
      static_cast<uint64_t>(size | right) | reinterpret_cast<uint64_t>(x) | reinterpret_cast<uint64_t>(out);
  const int64_t unit = all % 8 == 0 ? 8 : all % 4 == 0 ? 4 : all % 2 == 0 ? 2 : 1;
  launch_elements(kRotateRows.of(unit), rows * size / unit, rows, size / unit, right / unit, x, out);
}

}  // namespace

extern const CopyKernels copy = {
    .from_strided = from_strided, .to_strided = to_strided, .fill = fill, .rotate_rows = rotate_rows};

}  // namespace tape::kernels::cuda
