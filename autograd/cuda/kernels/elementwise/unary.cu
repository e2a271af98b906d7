// Kernels of UnaryKernels (autograd/kernels/elementwise/unary.h).
#include "autograd/cuda/kernels/elementwise/functions.h"
#include "autograd/cuda/kernels/random/dropout.h"

namespace {

constexpr double kLn2 = 0.69314718055994531, kLn10 = 2.3025850929940457;
constexpr double kSqrtHalf = 0.70710678118654752, kInverseSqrt2Pi = 0.39894228040143268;
constexpr double kGeluScale = 0.79788456080286536;  // sqrt(2 / pi)
constexpr double kGeluCubic = 0.044715;

/// x P(x), with P the normal CDF.
template <class T>
__device__ T gelu(T x) {
  return x < -40 ? T(-0.0) : T(0.5) * x * erfc(x * T(-kSqrtHalf));
}
/// P(x) + x p(x), with p the normal density. At infinity NaN, but the limit in f32, as on the CPU.
template <class T>
__device__ T gelu_slope(T x) {
  if (sizeof(T) == sizeof(float)) x = x > 15 ? T(15) : x < -15 ? T(-15) : x;
  const T density = exp(T(-0.5) * x * x) * T(kInverseSqrt2Pi);
  return T(0.5) * erfc(x * T(-kSqrtHalf)) + (fabs(x) > 40 ? T(0) : x * density);
}

/// x/2 (1 + tanh(u)) = x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3).
template <class T>
__device__ T gelu_tanh(T x) {
  return x < -40 ? T(-0.0) : x / (1 + exp(x * T(-2 * kGeluScale) * (1 + T(kGeluCubic) * x * x)));
}
template <class T>
__device__ T gelu_tanh_slope(T x) {
  if (x > 40) return 1;  // avoids infinity times zero
  if (x < -40) return 0;
  const T square = x * x, u2 = x * T(2 * kGeluScale) * (square * T(kGeluCubic) + 1);
  const T du2 = (square * T(3 * kGeluCubic) + 1) * T(2 * kGeluScale);
  const T e = exp(-fabs(u2)), share = 1 / (e + 1);
  return (x < 0 ? e : T(1)) * share + x * e * share * share * du2;
}

/// x sigmoid(x)
template <class T>
__device__ T silu(T x) {
  const T e = exp(-fabs(x));
  return x < T(-1e4) ? T(-0.0) : (x < 0 ? x * e : x) / (1 + e);
}
/// s + x s (1 - s), s = sigmoid(x)
template <class T>
__device__ T silu_slope(T x) {
  const T s = sigmoid(x);
  return s + silu(x > 40 ? T(40) : x) * (1 - s);  // avoids infinity times zero
}

/// x tanh(softplus(x)) = x w / (w + 2), w = e^x (e^x + 2).
template <class T>
__device__ T mish(T x) {
  const T e = exp(x > 40 ? T(40) : x), w = e * (e + 2);
  return x < T(-1e4) ? T(-0.0) : x * (w / (w + 2));
}
/// t + x s (1 - t^2), t = tanh(softplus(x)), s = sigmoid(x).
template <class T>
__device__ T mish_slope(T x) {
  const T inside = x > T(1e3) ? T(1e3) : x < T(-1e3) ? T(-1e3) : x;
  const T e = exp(inside > 40 ? T(40) : inside), w = e * (e + 2), below = 1 / (w + 2);
  return w * below + inside * (e / (e + 1)) * (4 * (w + 1) * below * below);
}

}  // namespace

/// y[i] = value, an expression of x = x[i].
#define TAPE_UNARY(name, value)                                        \
  namespace {                                                          \
  template <class V>                                                   \
  __device__ void unary_##name(int64_t n, const V* input, V* output) { \
    using T = Compute<V>;                                              \
    map_values(n, input, output, [](V in) {                            \
      const T x = widened(in);                                         \
      return narrowed<V>(value);                                       \
    });                                                                \
  }                                                                    \
  }                                                                    \
  TAPE_EXPORT_WITH_BF16(unary_##name, (int64_t n, const T* input, T* output), (n, input, output))

/// The same, and dx[i] = dy[i] * slope, an expression of `saved`, x or y.
#define TAPE_UNARY_WITH_SLOPE(name, value, saved, slope)                                    \
  TAPE_UNARY(name, value)                                                                   \
  namespace {                                                                               \
  template <class V>                                                                        \
  __device__ V unary_##name##_gradient(V value_of_i, V dy_of_i) {                           \
    using T = Compute<V>;                                                                   \
    const T saved = widened(value_of_i);                                                    \
    return narrowed<V>(widened(dy_of_i) * (slope));                                         \
  }                                                                                         \
  template <class V>                                                                        \
  __device__ void unary_##name##_backward(int64_t n, const V* values, const V* dy, V* dx) { \
    map_pairs(n, values, dy, dx, unary_##name##_gradient<V>);                               \
  }                                                                                         \
  }                                                                                         \
  TAPE_EXPORT_WITH_BF16(unary_##name##_backward, (int64_t n, const T* values, const T* dy, T* dx), (n, values, dy, dx))

/// The same, and dx[i] = dropout(dz)[i] * slope: of an activation before a dropout.
#define TAPE_ACTIVATION(name, value, saved, slope)                                                     \
  TAPE_UNARY_WITH_SLOPE(name, value, saved, slope)                                                     \
  namespace {                                                                                          \
  template <class V>                                                                                   \
  __device__ void unary_##name##_backward_dropped(int64_t n, const V* values, const V* dz,             \
                                                  const Dropped<Compute<V>>& dropout, V* dx) {         \
    map_dropped(n, dropout, values, dz, dx, unary_##name##_gradient<V>);                               \
  }                                                                                                    \
  }                                                                                                    \
  TAPE_EXPORT_WITH_BF16(unary_##name##_backward_dropped,                                               \
                        (int64_t n, const T* values, const T* dz, Dropped<Compute<T>> dropout, T* dx), \
                        (n, values, dz, dropout, dx))

TAPE_UNARY(neg, -x)
TAPE_UNARY(abs, fabs(x))
TAPE_UNARY(sign, x > 0 ? T(1) : x < 0 ? T(-1) : x)  // preserves zero and NaN
TAPE_UNARY(square, x* x)
TAPE_UNARY(reciprocal, 1 / x)
TAPE_UNARY(exp, exp(x))
TAPE_UNARY(log, log(x))
TAPE_UNARY(sqrt, sqrt(x))
TAPE_UNARY(rsqrt, 1 / sqrt(x))
TAPE_UNARY(sin, sin(x))
TAPE_UNARY(cos, cos(x))
TAPE_UNARY(erf, erf(x))
TAPE_UNARY(round, rint(x))  // ties to even
TAPE_UNARY(floor, floor(x))
TAPE_UNARY(ceil, ceil(x))
TAPE_UNARY(trunc, trunc(x))
TAPE_UNARY(frac, x - trunc(x))

TAPE_UNARY_WITH_SLOPE(tanh, tanh(x), y, 1 - y * y)
TAPE_UNARY_WITH_SLOPE(sigmoid, sigmoid(x), y, y * (1 - y))
TAPE_ACTIVATION(relu, x < 0 ? T(0) : x, y, y <= 0 ? T(0) : T(1))
TAPE_ACTIVATION(gelu, gelu(x), x, gelu_slope(x))
TAPE_ACTIVATION(gelu_tanh, gelu_tanh(x), x, gelu_tanh_slope(x))
TAPE_ACTIVATION(silu, silu(x), x, silu_slope(x))
TAPE_UNARY_WITH_SLOPE(mish, mish(x), x, mish_slope(x))
TAPE_UNARY_WITH_SLOPE(log1p, log1p(x), x, 1 / (x + 1))
TAPE_UNARY_WITH_SLOPE(log2, log2(x), x, 1 / (x * T(kLn2)))
TAPE_UNARY_WITH_SLOPE(log10, log10(x), x, 1 / (x * T(kLn10)))
TAPE_UNARY_WITH_SLOPE(expm1, expm1(x), y, y + 1)
TAPE_UNARY_WITH_SLOPE(exp2, exp2(x), y, y* T(kLn2))
TAPE_UNARY_WITH_SLOPE(sinh, sinh(x), x, cosh(x))
TAPE_UNARY_WITH_SLOPE(cosh, cosh(x), x, sinh(x))
TAPE_UNARY_WITH_SLOPE(atanh, atanh(x), x, 1 / ((1 - x) * (1 + x)))
TAPE_UNARY_WITH_SLOPE(tan, tan(x), y, y* y + 1)
TAPE_UNARY_WITH_SLOPE(asin, asin(x), x, 1 / sqrt((1 - x) * (1 + x)))
TAPE_UNARY_WITH_SLOPE(acos, acos(x), x, -1 / sqrt((1 - x) * (1 + x)))
TAPE_UNARY_WITH_SLOPE(atan, atan(x), x, 1 / (x * x + 1))
