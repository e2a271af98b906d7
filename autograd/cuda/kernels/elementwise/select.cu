// Selection between values of any type, for ElementwiseKernels and IntegerKernels.
#include "autograd/cuda/kernels/sized.h"
#include "autograd/cuda/kernels/strided.h"

using tape::kernels::Broadcast;

namespace {

/// out = c ? a : b, broadcast; strides[2] of the plan are those of c.
template <class E>
__device__ void select(int64_t n, Broadcast plan, const bool* c, const E* a, const E* b, E* out) {
  for_broadcast<3>(n, plan, [&](int64_t i, const int64_t(&at)[3]) { out[i] = c[at[2]] ? a[at[0]] : b[at[1]]; });
}

}  // namespace

TAPE_EXPORT_SIZES(select, (int64_t n, Broadcast plan, const bool* c, const T* a, const T* b, T* out),
                  (n, plan, c, a, b, out))
