#include "autograd/kernels/convolution/pool.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kPoolLargest = TAPE_FLOAT_KERNELS(pool_largest);
constinit const FloatKernels kPoolScatterAddAt = TAPE_FLOAT_KERNELS(pool_scatter_add_at);
constinit const FloatKernels kPoolMean = TAPE_FLOAT_KERNELS(pool_mean);
constinit const FloatKernels kPoolMeanGradient = TAPE_FLOAT_KERNELS(pool_mean_gradient);

template <class T>
void largest_of_windows(const Windows& w, int64_t planes, const T* x, T* y, int64_t* places) {
  launch_elements(kPoolLargest.of<T>(), planes * w.out(), w, planes, x, y, places);
}
template <class T>
void add_at_largest(const Windows& w, int64_t planes, const int64_t* places, const T* dy, T* dx) {
  launch_elements(kPoolScatterAddAt.of<T>(), planes * w.in(), w, planes, places, dy, dx);
}
template <class T>
void mean_of_windows(const Windows& w, int64_t planes, Border border, const T* x, T* y) {
  launch_elements(kPoolMean.of<T>(), planes * w.out(), w, planes, border == Border::counted, x, y);
}
template <class T>
void mean_of_windows_gradient(const Windows& w, int64_t planes, Border border, const T* dy, T* dx) {
  launch_elements(kPoolMeanGradient.of<T>(), planes * w.in(), w, planes, border == Border::counted, dy, dx);
}

}  // namespace

TAPE_DEFINE_TABLES(PoolKernels, pool, .largest = largest_of_windows<T>, .scatter_add_at = add_at_largest<T>,
                   .mean = mean_of_windows<T>, .mean_gradient = mean_of_windows_gradient<T>)

}  // namespace tape::kernels::cuda
