#include "autograd/kernels/unary.h"

#include "autograd/kernels/sine.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class V>
TAPE_INLINE V sign(V x) {
  return x > 0 ? V{} + 1 : (x < 0 ? V{} - 1 : x);  // zero and NaN stay
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
  return s + silu(x) * (1 - s);
}

/// Of x / (1 + exp(-2u)), u as gelu_tanh() has it.
template <class V>
TAPE_INLINE V gelu_tanh_slope(V x) {
  constexpr auto number = [](double value) { return static_cast<__typeof__(x[0] + 0)>(value); };
  const V square = x * x, u2 = x * number(2 * kGeluScale) * (square * number(kGeluCubic) + 1);
  const V du2 = (square * number(3 * kGeluCubic) + 1) * number(2 * kGeluScale);
  const V e = exp(-absolute(u2)), share = 1 / (e + 1);
  const V slope = (x < 0 ? e : V{} + 1) * share + x * e * share * share * du2;
  return x > 40 ? V{} + 1 : (x < -40 ? V{} : slope);  // infinities times zero
}

/// Parts of [0, n) on several threads. Not one copy a function: that would compile the threading once a row.
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
void forward(int64_t n, const T* x, T* y) {
  in_chunks(value_loop<F, T>, n, x, y);
}
template <class F, class T>
void backward(int64_t n, const T* value, const T* dy, T* dx) {
  in_chunks(slope_loop<F, T>, n, value, dy, dx);
}

/// A function whose derivative is made of other operations, from what it reads.
template <class Value>
constexpr UnaryKernel row(Reads reads, Value) {
  return {reads, {forward<Value, float>, nullptr}, {forward<Value, double>, nullptr}};
}
/// A function with its derivative, as a function of what it reads.
template <class Value, class Slope>
constexpr UnaryKernel row(Reads reads, Value, Slope) {
  return {reads, {forward<Value, float>, backward<Slope, float>}, {forward<Value, double>, backward<Slope, double>}};
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
};

}  // namespace tape::kernels::TAPE_LEVEL
