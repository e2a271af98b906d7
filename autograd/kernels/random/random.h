#pragma once

#include <cstdint>

#include "../runtime/common/isa.h"

namespace tape::kernels {

/// Which values dropout keeps: value i if its 32-bit draw at counter + i is at least p 2^32.
struct Dropout {
  uint64_t seed, counter;
  double p;
  bool operator==(const Dropout&) const = default;
};
/// z = a + dropout(b).
template <class T>
struct DroppedSum {
  const T *a, *b;
  Dropout dropout;
  T* z;
};

/// Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011). Element i of a stream depends only on (seed,
/// counter + i), so the values are the same for every number of threads and vector width.
template <class T>
struct RandomKernels {
  /// Uniform in [low, high): 24 random bits for f32, 53 for f64.
  void (*uniform)(int64_t n, uint64_t seed, uint64_t counter, double low, double high, T* y);
  /// Normal by Box-Muller in double precision: the same values in f32 (rounded) and f64.
  void (*normal)(int64_t n, uint64_t seed, uint64_t counter, double mean, double stddev, T* y);
  /// y[i] = x[i] / (1 - p) if element i is kept (its 32-bit draw at counter + i is >= p), else 0. y may be x.
  void (*dropout)(int64_t n, uint64_t seed, uint64_t counter, double p, const T* x, T* y);
  /// -log(u) / rate and -log(-log u), where u is the upper 52 bits of the 64-bit draw plus one half: in (0, 1), so that
  /// neither is infinite. Computed in double: the same values in f32 (rounded) and f64.
  void (*exponential)(int64_t n, uint64_t seed, uint64_t counter, double rate, T* y);
  void (*gumbel)(int64_t n, uint64_t seed, uint64_t counter, T* y);
  /// 1 if the upper 53 bits of the 64-bit draw, as a value in [0, 1), are below p[i], else 0.
  void (*bernoulli)(int64_t n, uint64_t seed, uint64_t counter, const T* p, T* y);
  /// A sum that is computed late (ops/deferred/dropped_sum.h); null where none are. z may be a or b.
  void (*add_dropped)(int64_t n, const DroppedSum<T>& sum) = nullptr;
};
TAPE_KERNEL_TABLE(RandomKernels, random)
TAPE_BF16_TABLE(RandomKernels, random)  // dropout and sums with it
}  // namespace tape::kernels
