// Counter-based random numbers with the CPU's bits. One thread computes one element. Arithmetic on random numbers is
// rounded after each operation, since a fused multiply-add would change bits.
#include "../packs.h"
#include "dropout.h"

using tape::kernels::philox_draw;
using tape::kernels::philox_draw64;

namespace {

/// Arithmetic without fused multiply-adds.
struct Exact {
  double value;
  __device__ Exact(double v) : value(v) {}
};
__device__ inline Exact operator+(Exact a, Exact b) { return __dadd_rn(a.value, b.value); }
__device__ inline Exact operator-(Exact a, Exact b) { return __dsub_rn(a.value, b.value); }
__device__ inline Exact operator*(Exact a, Exact b) { return __dmul_rn(a.value, b.value); }
__device__ inline Exact operator/(Exact a, Exact b) { return __ddiv_rn(a.value, b.value); }

#define TAPE_FORMULA __device__ inline
#include "../../../kernels/random/formulas.h"

/// 53 random bits in [0, 1).
__device__ inline double unit53(uint64_t bits) {
  return static_cast<double>(static_cast<int64_t>(bits >> 11)) * 0x1p-53;
}
/// In (0, 1).
__device__ inline double inside_unit(uint64_t bits) {
  return (static_cast<double>(static_cast<int64_t>(bits >> 12)) + 0.5) * 0x1p-52;
}

/// Natural logarithm of a positive normal number (fdlibm's e_log without its special cases).
__device__ inline double log_of_positive(double x) {
  const int64_t bits = __double_as_longlong(x);
  const int64_t shifted = bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  const int64_t e = (shifted >> 52) - 1023;
  const Exact m = __longlong_as_double(bits - e * (int64_t{1} << 52));
  return log_of_parts(m, Exact(static_cast<double>(e))).value;
}

/// sin(2 pi u) and cos(2 pi u) for u in [0, 1): exact range reduction, then fdlibm's polynomials.
__device__ inline void sine_of_turn(double u, double& sine, double& cosine) {
  const double quarters = 4.0 * u, next = quarters + 0.5;
  const int32_t q = static_cast<int32_t>(next);
  Exact s = 0, c = 0;
  sine_near_zero(Exact(quarters - static_cast<double>(q)) * 1.57079632679489661923, s, c);
  const double first = q & 1 ? c.value : s.value, second = q & 1 ? s.value : c.value;
  sine = q & 2 ? -first : first;
  cosine = (q + 1) & 2 ? -second : second;
}

/// Calls write(i, element) for all elements of the stream.
template <class Write>
__device__ void for_elements(int64_t n, uint64_t counter, const Write& write) {
  for (int64_t i = thread_of_grid(); i < n; i += threads_of_grid()) write(i, counter + static_cast<uint64_t>(i));
}

__device__ inline void uniform_f32_values(int64_t n, uint64_t seed, uint64_t counter, float low, float high, float* y) {
  const float width = high - low;
  for_elements(n, counter, [=](int64_t i, uint64_t element) {
    const float unit = static_cast<float>(static_cast<int32_t>(philox_draw(seed, element) >> 8)) * 0x1p-24F;
    const float value = __fadd_rn(low, __fmul_rn(width, unit));
    y[i] = value < high ? value : low;  // rounding may give `high`, which is excluded
  });
}
__device__ inline void uniform_f64_values(int64_t n, uint64_t seed, uint64_t counter, double low, double high,
                                          double* y) {
  const Exact width = high - low;
  for_elements(n, counter, [=](int64_t i, uint64_t element) {
    const double value = (low + width * unit53(philox_draw64(seed, element))).value;
    y[i] = value < high ? value : low;
  });
}

/// Elements 2j and 2j + 1 are the two results of block j (Box and Muller 1958): words (0,1) give the radius, (2,3) the
/// angle.
template <class T>
__device__ void normal(int64_t n, uint64_t seed, uint64_t counter, double mean, double stddev, T* y) {
  for_elements(n, counter, [=](int64_t i, uint64_t element) {
    const uint64_t first = element & ~uint64_t{1};
    const Exact radius = sqrt(-2.0 * log_of_positive(unit53(philox_draw64(seed, first)) + 0x1p-53));
    double sine, cosine;
    sine_of_turn(unit53(philox_draw64(seed, first + 1)), sine, cosine);
    y[i] = static_cast<T>((mean + stddev * (radius * (element & 1 ? sine : cosine))).value);
  });
}

/// y = dropout(x), plus `added`, which may be null. y may be x or `added`.
template <class T>
__device__ void dropout(int64_t n, const Dropped<Compute<T>>& given, const T* x, const T* added, T* y) {
  if (added)
    map_dropped(n, given, added, x, y, sum_of<T>);
  else
    map_dropped(n, given, x, x, y, [](T, T value) { return value; });
}

template <class T>
__device__ void exponential(int64_t n, uint64_t seed, uint64_t counter, double rate, T* y) {
  for_elements(n, counter, [=](int64_t i, uint64_t element) {
    y[i] = static_cast<T>(__ddiv_rn(-log_of_positive(inside_unit(philox_draw64(seed, element))), rate));
  });
}
template <class T>
__device__ void gumbel(int64_t n, uint64_t seed, uint64_t counter, T* y) {
  for_elements(n, counter, [=](int64_t i, uint64_t element) {
    y[i] = static_cast<T>(-log_of_positive(-log_of_positive(inside_unit(philox_draw64(seed, element)))));
  });
}
template <class T>
__device__ void bernoulli(int64_t n, uint64_t seed, uint64_t counter, const T* p, T* y) {
  for_elements(n, counter, [=](int64_t i, uint64_t element) {
    y[i] = unit53(philox_draw64(seed, element)) < static_cast<double>(p[i]) ? T(1) : T(0);
  });
}
}  // namespace

TAPE_EXPORT_AS(uniform_f32, uniform_f32_values,
               (int64_t n, uint64_t seed, uint64_t counter, float low, float high, float* y),
               (n, seed, counter, low, high, y))
TAPE_EXPORT_AS(uniform_f64, uniform_f64_values,
               (int64_t n, uint64_t seed, uint64_t counter, double low, double high, double* y),
               (n, seed, counter, low, high, y))
TAPE_EXPORT(normal, (int64_t n, uint64_t seed, uint64_t counter, double mean, double stddev, T* y),
            (n, seed, counter, mean, stddev, y))
TAPE_EXPORT_WITH_BF16(dropout, (int64_t n, Dropped<Compute<T>> given, const T* x, const T* added, T* y),
                      (n, given, x, added, y))
TAPE_EXPORT(exponential, (int64_t n, uint64_t seed, uint64_t counter, double rate, T* y), (n, seed, counter, rate, y))
TAPE_EXPORT(gumbel, (int64_t n, uint64_t seed, uint64_t counter, T* y), (n, seed, counter, y))
TAPE_EXPORT(bernoulli, (int64_t n, uint64_t seed, uint64_t counter, const T* p, T* y), (n, seed, counter, p, y))
