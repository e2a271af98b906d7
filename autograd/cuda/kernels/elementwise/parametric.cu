// Kernels of ParametricKernels (autograd/kernels/elementwise/parametric.h).
#include "autograd/cuda/kernels/elementwise/functions.h"

/// y[i] = value and dx[i] = dy[i] * slope, expressions of x = x[i] and the parameters a and b.
#define TAPE_PARAMETRIC(name, value, slope)                                                                       \
  namespace {                                                                                                     \
  template <class T>                                                                                              \
  __device__ void parametric_##name(int64_t n, T a, [[maybe_unused]] T b, const T* input, T* output) {            \
    for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {                                           \
      const T x = input[i];                                                                                       \
      output[i] = value;                                                                                          \
    }                                                                                                             \
  }                                                                                                               \
  template <class T>                                                                                              \
  __device__ void parametric_##name##_backward(int64_t n, T a, [[maybe_unused]] T b, const T* input, const T* dy, \
                                               T* dx) {                                                           \
    for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) {                                           \
      const T x = input[i];                                                                                       \
      dx[i] = dy[i] * (slope);                                                                                    \
    }                                                                                                             \
  }                                                                                                               \
  }                                                                                                               \
  TAPE_EXPORT(parametric_##name, (int64_t n, T a, T b, const T* input, T* output), (n, a, b, input, output))      \
  TAPE_EXPORT(parametric_##name##_backward, (int64_t n, T a, T b, const T* input, const T* dy, T* dx),            \
              (n, a, b, input, dy, dx))

TAPE_PARAMETRIC(leaky_relu, x > 0 ? x : x * a, x > 0 ? T(1) : a)
TAPE_PARAMETRIC(elu, x > 0 ? x : expm1(x) * a, x > 0 ? T(1) : exp(x) * a)
TAPE_PARAMETRIC(softplus, x* a > b ? x : softplus(x * a) / a, x* a > b ? T(1) : sigmoid(x * a))
