#pragma once

#include "../../kernels/elementwise/broadcast.h"
#include "elements.h"

namespace tape::kernels::cuda {

/// Number of elements of the output.
inline int64_t count(const Broadcast& plan) {
  int64_t n = 1;
  for (int d = 0; d < plan.rank; ++d) n *= plan.sizes[d];
  return n;
}

/// Runs a kernel (n, plan, arguments...) with a thread per element of the output.
template <class... A>
void launch_broadcast(const Kernel& kernel, const Broadcast& plan, A... arguments) {
  const int64_t n = count(plan);
  launch_elements(kernel, n, n, plan, arguments...);
}

/// The same for a kernel of two operands, which takes packs where both have rows (for_pairs() of kernels/strided.h).
template <class T, class Out>
void launch_pairs(const Kernel& kernel, const Broadcast& plan, const T* a, const T* b, Out* out) {
  const int64_t n = count(plan);
  const int last = plan.rank - 1;
  if (last >= 0 && plan.strides[0][last] == 1 && plan.strides[1][last] == 1)
    launch_packs(kernel, n, sizeof(T), plan.sizes[last], plan, a, b, out);
  else
    launch_elements(kernel, n, n, int64_t{0}, plan, a, b, out);
}

/// out = c ? a : b, broadcast, for elements of 1, 2, 4 or 8 bytes.
void select(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out);

}  // namespace tape::kernels::cuda
