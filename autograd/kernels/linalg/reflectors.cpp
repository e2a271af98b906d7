#include "autograd/kernels/linalg/reflectors.h"

#include "autograd/kernels/vector/vec_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
T dot(int64_t n, const T* x, const T* y) {
  Vec<T> sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes<T> <= n; i += 4 * kLanes<T>)
    for (int s = 0; s < 4; ++s) sums[s] += load(x + i + s * kLanes<T>) * load(y + i + s * kLanes<T>);
  for (; i < n; i += kLanes<T>) {
    const int64_t count = smaller(kLanes<T>, n - i);
    sums[0] += load_first_or_all(x + i, count, T(0)) * load_first_or_all(y + i, count, T(0));
  }
  return static_cast<T>(fold((sums[0] + sums[1]) + (sums[2] + sums[3]), [](auto a, auto b) { return a + b; }));
}

/// y += factor x.
template <class T>
void add_scaled(int64_t n, T factor, const T* x, T* y) {
  for (int64_t i = 0; i < n; i += kLanes<T>) {
    const int64_t count = smaller(kLanes<T>, n - i);
    store_first_or_all(y + i, load_first_or_all(y + i, count, T(0)) + load_first_or_all(x + i, count, T(0)) * factor,
                       count);
  }
}

/// The length of x, also where squares would be too large or too small.
template <class T>
T length_of(int64_t n, const T* x) {
  constexpr T kLeast = sizeof(T) == sizeof(float) ? T(1e-25) : T(1e-280), kMost = T(1) / kLeast;
  const T sum = dot(n, x, x);
  if (sum > kLeast && sum < kMost) return static_cast<T>(__builtin_sqrt(static_cast<double>(sum)));
  double largest = 0, rest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = __builtin_fabs(static_cast<double>(x[i]));
    if (size > largest) largest = size;
  }
  if (largest == 0) return 0;
  for (int64_t i = 0; i < n; ++i) rest += static_cast<double>(x[i]) / largest * (static_cast<double>(x[i]) / largest);
  return static_cast<T>(largest * __builtin_sqrt(rest));
}

/// x becomes [beta, tail of v] with H x = [beta, 0, ...]; gives tau (LAPACK's larfg).
template <class T>
T reflector(int64_t n, T* x) {
  const T rest = length_of(n - 1, x + 1);
  if (rest == 0) return 0;
  const T size = static_cast<T>(__builtin_hypot(static_cast<double>(x[0]), static_cast<double>(rest)));
  const T beta = x[0] < 0 ? size : -size, head = x[0] - beta, tau = -head / beta;
  map_vectors(n - 1, x + 1, x + 1, [head](Vec<T> value) { return value / head; });
  x[0] = beta;
  return tau;
}

template <class T>
void factor(int64_t count, int64_t length, T* x, int64_t stride, T* tau) {
  for (int64_t i = 0; i < count; ++i) {
    T* const own = x + i * stride + i;
    const int64_t n = length - i;
    tau[i] = reflector(n, own);
    if (tau[i] == 0) continue;
    for (T* row = own + stride; row < x + count * stride; row += stride) {
      const T part = -tau[i] * (row[0] + dot(n - 1, own + 1, row + 1));
      row[0] += part;
      add_scaled(n - 1, part, own + 1, row + 1);
    }
  }
}

template <class T>
void apply(int64_t count, int64_t length, const T* v, int64_t v_stride, const T* tau, int64_t rows, T* x,
           int64_t stride) {
  for (int64_t i = count - 1; i >= 0; --i) {
    const T* const own = v + i * v_stride;
    for (T* row = x; row < x + rows * stride; row += stride) {
      T sum = row[i];
      for (int64_t e = i + 1; e < length; ++e) sum += own[e] * row[e];
      sum *= tau[i];
      row[i] -= sum;
      for (int64_t e = i + 1; e < length; ++e) row[e] -= sum * own[e];
    }
  }
}

template <class T>
constexpr ReflectorKernels<T> kTable = {.factor = factor<T>, .apply = apply<T>};

}  // namespace

extern const ReflectorKernels<float> reflectors_f32 = kTable<float>;
extern const ReflectorKernels<double> reflectors_f64 = kTable<double>;

}  // namespace tape::kernels::TAPE_LEVEL
