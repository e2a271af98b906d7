// The consumer's own CUDA kernel.
#include <tapeformer/autograd/cuda/kernels/device.h>

namespace {

template <class T>
__device__ void scale(int64_t n, T factor, const T* x, T* y) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) y[i] = factor * x[i];
}

}  // namespace

TAPE_EXPORT(scale, (int64_t n, T factor, const T* x, T* y), (n, factor, x, y))
