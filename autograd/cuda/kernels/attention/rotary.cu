// Kernels of RotaryKernels (autograd/kernels/attention/rotary.h).
#include "autograd/cuda/kernels/bf16.h"
#include "autograd/kernels/attention/rotary.h"

using tape::kernels::RotaryShape;

namespace {

/// (u, v) -> (u c - v s, u s + v c) for the pairs of each head, which have a thread each, as have the other columns,
/// which are copied. y may be x.
template <class T>
__device__ void rotary(RotaryShape r, const T* x, const Compute<T>* cosine, const Compute<T>* sine, T* y) {
  const int64_t slots = r.width - r.pairs, n = r.texts * r.length * r.heads * slots;
  for (int64_t e = thread_of_grid(); e < n; e += threads_of_grid()) {
    const int64_t head = e / slots, slot = e % slots, first = head * r.width;
    if (slot >= r.pairs) {
      const int64_t at = first + r.pairs + slot;
      y[at] = x[at];
      continue;
    }
    const int64_t row = head / r.heads;
    const int64_t angle = row / r.length * r.next_text + row % r.length * r.pairs + slot;
    const int64_t at_u = first + (r.interleaved ? 2 * slot : slot), at_v = at_u + (r.interleaved ? 1 : r.pairs);
    const Compute<T> u = widened(x[at_u]), v = widened(x[at_v]), c = cosine[angle], s = sine[angle];
    y[at_u] = narrowed<T>(u * c - v * s);
    y[at_v] = narrowed<T>(u * s + v * c);
  }
}

}  // namespace

TAPE_EXPORT_WITH_BF16(rotary, (RotaryShape shape, const T* x, const Compute<T>* cosine, const Compute<T>* sine, T* y),
                      (shape, x, cosine, sine, y))
