#include "autograd/kernels/norm/softmax.h"

#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kSoftmax = TAPE_FLOAT_KERNELS(softmax);
constinit const FloatKernels kSoftmaxBackward = TAPE_FLOAT_KERNELS(softmax_backward);
constinit const FloatKernels kLogSoftmax = TAPE_FLOAT_KERNELS(log_softmax);
constinit const FloatKernels kLogSoftmaxBackward = TAPE_FLOAT_KERNELS(log_softmax_backward);

template <class T, class... A>
void launch_softmax(const FloatKernels& kernel, int64_t outer, int64_t size, int64_t inner, A... arrays) {
  if (size == 0) return;
  const Launch launch = over_lines(outer * inner, threads_per_line(size, inner));
  kernel.of<T>()(launch.blocks, launch.threads, outer, size, inner, arrays...);
}
template <class T>
void softmax_forward(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  launch_softmax<T>(kSoftmax, outer, size, inner, x, y);
}
template <class T>
void softmax_backward(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx) {
  launch_softmax<T>(kSoftmaxBackward, outer, size, inner, y, dy, dx);
}
template <class T>
void log_softmax_forward(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  launch_softmax<T>(kLogSoftmax, outer, size, inner, x, y);
}
template <class T>
void log_softmax_backward(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx) {
  launch_softmax<T>(kLogSoftmaxBackward, outer, size, inner, y, dy, dx);
}
}  // namespace

TAPE_DEFINE_TABLES(SoftmaxKernels, softmax, .softmax = softmax_forward<T>, .softmax_backward = softmax_backward<T>,
                   .log_softmax = log_softmax_forward<T>, .log_softmax_backward = log_softmax_backward<T>)

}  // namespace tape::kernels::cuda
