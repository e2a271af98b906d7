#include "autograd/kernels/elementwise.h"

#include "autograd/kernels/broadcast_loops.h"
#include "autograd/kernels/unary.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <Unary op, class T>
void unary_op(int64_t n, const T* x, T* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) { unary_range<op>(end - begin, x + begin, y + begin); });
}

template <class T>
void unary(Unary op, int64_t n, const T* x, T* y) {
  switch (op) {
    case Unary::neg:
      return unary_op<Unary::neg>(n, x, y);
    case Unary::abs:
      return unary_op<Unary::abs>(n, x, y);
    case Unary::sign:
      return unary_op<Unary::sign>(n, x, y);
    case Unary::square:
      return unary_op<Unary::square>(n, x, y);
    case Unary::reciprocal:
      return unary_op<Unary::reciprocal>(n, x, y);
    case Unary::exp:
      return unary_op<Unary::exp>(n, x, y);
    case Unary::log:
      return unary_op<Unary::log>(n, x, y);
    case Unary::sqrt:
      return unary_op<Unary::sqrt>(n, x, y);
    case Unary::rsqrt:
      return unary_op<Unary::rsqrt>(n, x, y);
    case Unary::sin:
      return unary_op<Unary::sin>(n, x, y);
    case Unary::cos:
      return unary_op<Unary::cos>(n, x, y);
    case Unary::tanh:
      return unary_op<Unary::tanh>(n, x, y);
    case Unary::sigmoid:
      return unary_op<Unary::sigmoid>(n, x, y);
    case Unary::erf:
      return unary_op<Unary::erf>(n, x, y);
    case Unary::relu:
      return unary_op<Unary::relu>(n, x, y);
    case Unary::gelu:
      return unary_op<Unary::gelu>(n, x, y);
    case Unary::gelu_tanh:
      return unary_op<Unary::gelu_tanh>(n, x, y);
    case Unary::silu:
      return unary_op<Unary::silu>(n, x, y);
  }
}

template <Unary op, class T>
void backward_op(int64_t n, const T* from, const T* dy, T* dx) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    int64_t i = begin;
    for (; i + kLanes<T> <= end; i += kLanes<T>) store(dx + i, load(dy + i) * unary_slope<op>(load(from + i)));
    if (i < end)
      store_first(dx + i, load_first(dy + i, end - i) * unary_slope<op>(load_first(from + i, end - i)), end - i);
  });
}

template <class T>
void unary_backward(Unary op, int64_t n, const T* x, const T* y, const T* dy, T* dx) {
  switch (op) {
    case Unary::tanh:
      return backward_op<Unary::tanh>(n, y, dy, dx);
    case Unary::sigmoid:
      return backward_op<Unary::sigmoid>(n, y, dy, dx);
    case Unary::relu:
      return backward_op<Unary::relu>(n, x, dy, dx);
    case Unary::gelu:
      return backward_op<Unary::gelu>(n, x, dy, dx);
    case Unary::gelu_tanh:
      return backward_op<Unary::gelu_tanh>(n, x, dy, dx);
    case Unary::silu:
      return backward_op<Unary::silu>(n, x, dy, dx);
    default:
      return;  // not accepted, as the header says
  }
}

TAPE_INLINE float power(float a, float b) { return __builtin_powf(a, b); }
TAPE_INLINE double power(double a, double b) { return __builtin_pow(a, b); }

template <class T>
void binary(Binary op, const Broadcast& plan, const T* a, const T* b, T* out) {
  switch (op) {
    case Binary::add:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x + y; });
    case Binary::sub:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x - y; });
    case Binary::mul:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x * y; });
    case Binary::div:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x / y; });
    case Binary::pow:
      return for_pairs(plan, a, b, out, [](T x, T y) { return power(x, y); });
    // A NaN on either side is the result.
    case Binary::maximum:
      return for_pairs(plan, a, b, out, [](T x, T y) { return (x > y) | (x != x) ? x : y; });
    case Binary::minimum:
      return for_pairs(plan, a, b, out, [](T x, T y) { return (x < y) | (x != x) ? x : y; });
  }
}

template <class T>
void compare(Compare op, const Broadcast& plan, const T* a, const T* b, bool* out) {
  switch (op) {
    case Compare::eq:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x == y; });
    case Compare::ne:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x != y; });
    case Compare::lt:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x < y; });
    case Compare::le:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x <= y; });
    case Compare::gt:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x > y; });
    case Compare::ge:
      return for_pairs(plan, a, b, out, [](T x, T y) { return x >= y; });
  }
}

template <class T>
void where(const Broadcast& plan, const bool* c, const T* a, const T* b, T* out) {
  const int inner = plan.rank - 1;
  const int64_t sa = inner < 0 ? 0 : plan.strides[0][inner], sb = inner < 0 ? 0 : plan.strides[1][inner];
  const int64_t sc = inner < 0 ? 0 : plan.strides[2][inner];
  for_rows(plan, [&](const RowOffsets& o) {
    const T *pa = a + o.operand[0], *pb = b + o.operand[1];
    const bool* pc = c + o.operand[2];
    T* to = out + o.out;
    if (sc == 1 && sa == 1 && sb == 1) {
#pragma omp simd
      for (int64_t i = 0; i < o.count; ++i) {
        const T va = pa[i], vb = pb[i];
        to[i] = pc[i] ? va : vb;
      }
    } else if (sc == 1 && sa == 1 && sb == 0) {
      const T vb = *pb;
#pragma omp simd
      for (int64_t i = 0; i < o.count; ++i) {
        const T va = pa[i];
        to[i] = pc[i] ? va : vb;
      }
    } else if (sc == 1 && sa == 0 && sb == 1) {
      const T va = *pa;
#pragma omp simd
      for (int64_t i = 0; i < o.count; ++i) {
        const T vb = pb[i];
        to[i] = pc[i] ? va : vb;
      }
    } else {
      for (int64_t i = 0; i < o.count; ++i) to[i] = pc[i * sc] ? pa[i * sa] : pb[i * sb];
    }
  });
}

template <class T>
void affine(int64_t n, const T* x, T scale, T shift, T* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    map_vectors(end - begin, x + begin, y + begin, [&](Vec<T> v) { return v * scale + shift; });
  });
}

template <class T, class F>
TAPE_INLINE void map_chunks(int64_t n, const T* x, T* y, const F& f) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) { map_vectors(end - begin, x + begin, y + begin, f); });
}

template <class T>
void pow_scalar(int64_t n, const T* x, T exponent, T* y) {
  using V = Vec<T>;
  if (exponent == T(1)) return map_chunks(n, x, y, [](V v) { return v; });
  if (exponent == T(2)) return map_chunks(n, x, y, [](V v) { return v * v; });
  if (exponent == T(3)) return map_chunks(n, x, y, [](V v) { return v * v * v; });
  if (exponent == T(-1)) return map_chunks(n, x, y, [](V v) { return 1 / v; });
  if (exponent == T(0.5)) return map_chunks(n, x, y, [](V v) { return square_root(v); });
  if (exponent == T(-0.5)) return map_chunks(n, x, y, [](V v) { return 1 / square_root(v); });
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = power(x[i], exponent);
  });
}

template <class T>
void accumulate(int64_t n, const T* x, T scale, T* y) {
  for_chunks(n, 1, [&](int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) y[i] += x[i] * scale;
  });
}
}  // namespace

extern const ElementwiseKernels<float> elementwise_f32 = {unary<float>,      unary_backward<float>, binary<float>,
                                                          compare<float>,    where<float>,          affine<float>,
                                                          pow_scalar<float>, accumulate<float>};
extern const ElementwiseKernels<double> elementwise_f64 = {unary<double>,      unary_backward<double>, binary<double>,
                                                           compare<double>,    where<double>,          affine<double>,
                                                           pow_scalar<double>, accumulate<double>};

}  // namespace tape::kernels::TAPE_LEVEL
