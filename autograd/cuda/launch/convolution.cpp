#include "autograd/kernels/convolution/common/convolution.h"

#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kConvolution = TAPE_FLOAT_KERNELS(convolution);
constinit const FloatKernels kConvolutionInputGradient = TAPE_FLOAT_KERNELS(convolution_input_gradient);
constinit const FloatKernels kConvolutionWeightGradients = TAPE_FLOAT_KERNELS(convolution_weight_gradients);
constinit const FloatKernels kConvolutionBiasGradient = TAPE_FLOAT_KERNELS(convolution_bias_gradient);

template <class T>
void convolve(const Convolution& s, const T* x, const T* weight, const T* bias, T* y) {
  launch_elements(kConvolution.of<T>(), s.batch * s.groups * s.out_channels * s.windows.out(), s, x, weight, bias, y);
}

template <class T>
void convolution_weight_gradients(const Convolution& s, int64_t samples, const T* x, const T* dy, T* dweights) {
  const int64_t weights = s.groups * s.out_channels * s.in_channels * s.windows.taps();
  const Launch launch = over_lines(samples * weights, threads_per_line(s.batch * s.windows.out(), 1));
  kConvolutionWeightGradients.of<T>()(launch.blocks, launch.threads, s, samples, x, dy, dweights);
}

template <class T>
void convolution_backward(const Convolution& s, const T* x, const T* weight, const T* dy, T* dx, T* dweight, T* dbias) {
  if (dx)
    launch_elements(kConvolutionInputGradient.of<T>(), s.batch * s.groups * s.in_channels * s.windows.in(), s, weight,
                    dy, dx);
  if (dweight) convolution_weight_gradients(s, 1, x, dy, dweight);
  if (!dbias) return;
  const Launch launch = over_lines(s.groups * s.out_channels, threads_per_line(s.batch * s.windows.out(), 1));
  kConvolutionBiasGradient.of<T>()(launch.blocks, launch.threads, s, dy, dbias);
}

}  // namespace

TAPE_DEFINE_TABLES(ConvolutionKernels, convolution, .forward = convolve<T>, .backward = convolution_backward<T>,
                   .weight_gradients = convolution_weight_gradients<T>)

}  // namespace tape::kernels::cuda
