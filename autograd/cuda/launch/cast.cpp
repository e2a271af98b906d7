#include "autograd/kernels/elementwise/common/cast.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const Kernel kCast("cast"), kFirstUnfit("first_unfit");

void cast_values(Element from, Element to, int64_t n, const void* x, void* y) {
  constexpr int64_t kOfThread = 4;  // of 2 to 16 values in a pack
  launch_elements(kCast, quotient_up(n, kOfThread), from, to, n, x, y);
}

void first_unfit(Element from, Element to, int64_t n, const void* x, int64_t* first) {
  cuda_device::fill_bytes(first, 0xff, sizeof(int64_t));  // -1
  launch_elements(kFirstUnfit, n, from, to, n, x, first);
}

}  // namespace

extern const CastKernels casts = {.cast = cast_values, .first_unfit = first_unfit};

}  // namespace tape::kernels::cuda
