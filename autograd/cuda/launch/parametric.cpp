#include "autograd/kernels/elementwise/parametric.h"

#include "autograd/cuda/launch/elements.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kLeakyRelu = TAPE_FLOAT_KERNELS(parametric_leaky_relu);
constinit const FloatKernels kLeakyReluBackward = TAPE_FLOAT_KERNELS(parametric_leaky_relu_backward);
constinit const FloatKernels kElu = TAPE_FLOAT_KERNELS(parametric_elu);
constinit const FloatKernels kEluBackward = TAPE_FLOAT_KERNELS(parametric_elu_backward);
constinit const FloatKernels kSoftplus = TAPE_FLOAT_KERNELS(parametric_softplus);
constinit const FloatKernels kSoftplusBackward = TAPE_FLOAT_KERNELS(parametric_softplus_backward);

template <const FloatKernels& kernels, class T>
void forward(int64_t n, double a, double b, const T* x, T* y) {
  launch_elements(kernels.of<T>(), n, n, static_cast<T>(a), static_cast<T>(b), x, y);
}
template <const FloatKernels& kernels, class T>
void backward(int64_t n, double a, double b, const T* x, const T* dy, T* dx) {
  launch_elements(kernels.of<T>(), n, n, static_cast<T>(a), static_cast<T>(b), x, dy, dx);
}

}  // namespace

TAPE_DEFINE_TABLES(ParametricKernels, parametric,
                   .leaky_relu = {forward<kLeakyRelu, T>, backward<kLeakyReluBackward, T>},
                   .elu = {forward<kElu, T>, backward<kEluBackward, T>},
                   .softplus = {forward<kSoftplus, T>, backward<kSoftplusBackward, T>})

}  // namespace tape::kernels::cuda
