#include "autograd/kernels/elementwise/unary.h"

#include "autograd/kernels/vector/hyperbolic.h"
#include "autograd/kernels/vector/inverse_sine.h"
#include "autograd/kernels/vector/sine.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class V>
TAPE_INLINE V sign(V x) {
  return x > 0 ? V{} + 1 : (x < 0 ? V{} - 1 : x);  // preserves zero and NaN
}

template <class V>
TAPE_INLINE V relu(V x) {
  return x < 0 ? V{} : x;
}
template <class V>
TAPE_INLINE V relu_slope(V y) {
  return y <= 0 ? V{} : V{} + 1;
}

template <class V>
TAPE_INLINE V silu_slope(V x) {
  const V s = sigmoid(x);
  return s + silu(x > 40 ? V{} + 40 : x) * (1 - s);  // avoids infinity times zero
}

/// Derivative of x / (1 + exp(-2u)), with u as in gelu_tanh().
template <class V>
TAPE_INLINE V gelu_tanh_slope(V x) {
  constexpr auto number = [](double value) { return static_cast<__typeof__(x[0] + 0)>(value); };
  const V square = x * x, u2 = x * number(2 * kGeluScale) * (square * number(kGeluCubic) + 1);
  const V du2 = (square * number(3 * kGeluCubic) + 1) * number(2 * kGeluScale);
  const V e = exp(-absolute(u2)), share = 1 / (e + 1);
  const V slope = (x < 0 ? e : V{} + 1) * share + x * e * share * share * du2;
  return x > 40 ? V{} + 1 : (x < -40 ? V{} : slope);  // avoids infinity times zero
}

// Rounding of single values, ties to even; the compiler vectorizes loops over these with the CPU's own instruction.
TAPE_INLINE float nearest(float x) { return __builtin_rintf(x); }
TAPE_INLINE double nearest(double x) { return __builtin_rint(x); }
TAPE_INLINE float below(float x) { return __builtin_floorf(x); }
TAPE_INLINE double below(double x) { return __builtin_floor(x); }
TAPE_INLINE float above(float x) { return __builtin_ceilf(x); }
TAPE_INLINE double above(double x) { return __builtin_ceil(x); }
TAPE_INLINE float truncated(float x) { return __builtin_truncf(x); }
TAPE_INLINE double truncated(double x) { return __builtin_trunc(x); }

template <class V>
TAPE_INLINE V number(double value) {
  return V{} + static_cast<__typeof__(V{}[0] + 0)>(value);
}
constexpr double kLn2 = 0.69314718055994531, kLn10 = 2.3025850929940457;

/// Splits [0, n) over threads. Not a template on the function, so that the threading code is compiled only once.
template <class T>
TAPE_APART void in_chunks(void (*loop)(int64_t, const T*, T*), int64_t n, const T* x, T* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) { loop(end - begin, x + begin, y + begin); });
}
template <class T>
TAPE_APART void in_chunks(void (*loop)(int64_t, const T*, const T*, T*), int64_t n, const T* value, const T* dy,
                          T* dx) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) { loop(end - begin, value + begin, dy + begin, dx + begin); });
}

template <class F, class T>
void value_loop(int64_t n, const T* x, T* y) {
  map_vectors(n, x, y, F());
}
template <class F, class T>
void slope_loop(int64_t n, const T* value, const T* dy, T* dx) {
  const F slope = F();
  int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) store(dx + i, load(dy + i) * slope(load(value + i)));
  if (i < n) store_first(dx + i, load_first(dy + i, n - i) * slope(load_first(value + i, n - i)), n - i);
}

template <class F, class T>
void plain_loop(int64_t n, const T* x, T* y) {
  const F f = F();
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}

template <class F, class T>
void forward(int64_t n, const T* x, T* y) {
  in_chunks(value_loop<F, T>, n, x, y);
}
template <class F, class T>
void forward_plain(int64_t n, const T* x, T* y) {
  in_chunks(plain_loop<F, T>, n, x, y);
}
template <class F, class T>
void backward(int64_t n, const T* value, const T* dy, T* dx) {
  in_chunks(slope_loop<F, T>, n, value, dy, dx);
}

/// A function whose derivative is composed of other operations on the value it reads.
template <class Value>
constexpr UnaryKernel row(Reads reads, Value) {
  return {reads, {forward<Value, float>, nullptr}, {forward<Value, double>, nullptr}};
}
/// A function and its derivative, a function of the value it reads.
template <class Value, class Slope>
constexpr UnaryKernel row(Reads reads, Value, Slope) {
  return {reads, {forward<Value, float>, backward<Slope, float>}, {forward<Value, double>, backward<Slope, double>}};
}

/// A function of single values.
template <class Value>
constexpr UnaryKernel plain_row(Value) {
  return {Reads::nothing, {forward_plain<Value, float>, nullptr}, {forward_plain<Value, double>, nullptr}};
}

}  // namespace

extern constinit const UnaryKernels unary = {
    .neg = row(Reads::nothing, [](auto x) { return -x; }),
    .abs = row(Reads::x, [](auto x) { return absolute(x); }),
    .sign = row(Reads::nothing, [](auto x) { return sign(x); }),
    .square = row(Reads::x, [](auto x) { return x * x; }),
    .reciprocal = row(Reads::y, [](auto x) { return 1 / x; }),
    .exp = row(Reads::y, [](auto x) { return exp(x); }),
    .log = row(Reads::x, [](auto x) { return log(x); }),
    .sqrt = row(Reads::y, [](auto x) { return square_root(x); }),
    .rsqrt = row(Reads::y, [](auto x) { return 1 / square_root(x); }),
    .sin = row(Reads::x, [](auto x) { return sin(x); }),
    .cos = row(Reads::x, [](auto x) { return cos(x); }),
    .tanh = row(
        Reads::y, [](auto x) { return tanh(x); }, [](auto y) { return 1 - y * y; }),
    .sigmoid = row(
        Reads::y, [](auto x) { return sigmoid(x); }, [](auto y) { return y * (1 - y); }),
    .erf = row(Reads::x, [](auto x) { return erf(x); }),
    .relu = row(
        Reads::y, [](auto x) { return relu(x); }, [](auto y) { return relu_slope(y); }),
    .gelu = row(
        Reads::x, [](auto x) { return gelu(x); }, [](auto x) { return gelu_slope(x); }),
    .gelu_tanh = row(
        Reads::x, [](auto x) { return gelu_tanh(x); }, [](auto x) { return gelu_tanh_slope(x); }),
    .silu = row(
        Reads::x, [](auto x) { return silu(x); }, [](auto x) { return silu_slope(x); }),
    .log1p = row(
        Reads::x, [](auto x) { return log1p(x); }, [](auto x) { return 1 / (x + 1); }),
    .log2 = row(
        Reads::x, [](auto x) { return log2(x); }, [](auto x) { return 1 / (x * number<decltype(x)>(kLn2)); }),
    .log10 = row(
        Reads::x, [](auto x) { return log10(x); }, [](auto x) { return 1 / (x * number<decltype(x)>(kLn10)); }),
    .expm1 = row(
        Reads::y, [](auto x) { return expm1(x); }, [](auto y) { return y + 1; }),
    .exp2 = row(
        Reads::y, [](auto x) { return exp2(x); }, [](auto y) { return y * number<decltype(y)>(kLn2); }),
    .sinh = row(
        Reads::x, [](auto x) { return sinh(x); }, [](auto x) { return cosh(x); }),
    .cosh = row(
        Reads::x, [](auto x) { return cosh(x); }, [](auto x) { return sinh(x); }),
    .atanh = row(
        Reads::x, [](auto x) { return atanh(x); }, [](auto x) { return 1 / ((1 - x) * (1 + x)); }),
    .mish = row(
        Reads::x, [](auto x) { return mish(x); }, [](auto x) { return mish_slope(x); }),
    .tan = row(
        Reads::y, [](auto x) { return tan(x); }, [](auto y) { return y * y + 1; }),
    .asin = row(
        Reads::x, [](auto x) { return asin(x); }, [](auto x) { return 1 / square_root((1 - x) * (1 + x)); }),
    .acos = row(
        Reads::x, [](auto x) { return acos(x); }, [](auto x) { return -1 / square_root((1 - x) * (1 + x)); }),
    .atan = row(
        Reads::x, [](auto x) { return atan(x); }, [](auto x) { return 1 / (x * x + 1); }),
    .round = plain_row([](auto x) { return nearest(x); }),
    .floor = plain_row([](auto x) { return below(x); }),
    .ceil = plain_row([](auto x) { return above(x); }),
    .trunc = plain_row([](auto x) { return truncated(x); }),
    .frac = plain_row([](auto x) { return x - truncated(x); }),
};

}  // namespace tape::kernels::TAPE_LEVEL
