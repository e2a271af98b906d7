#include "autograd/kernels/random/random.h"

#include "autograd/kernels/random/philox.h"

#define TAPE_FORMULA TAPE_INLINE
#include "autograd/kernels/random/formulas.h"

// Compiled with -ffp-contract=off: without fused multiply-adds, results are bitwise identical at every level, so a seed
// gives the same weights on every CPU.

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Number of draws buffered on the stack.
constexpr int64_t kBatch = 1024;

/// Calls use(first, n, words) for all of [0, count), with `words` 32-bit draws for each element [counter + first, + n).
template <int words, class Use>
TAPE_INLINE void for_draws(int64_t count, uint64_t seed, uint64_t counter, const Use& use) {
  for_chunks(count, 4, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t buffer[words * kBatch + 2 * kDrawPadding];
    for (int64_t i = begin; i < end; i += kBatch) {
      const int64_t n = smaller(kBatch, end - i);
      const uint64_t element = counter + static_cast<uint64_t>(i);
      if constexpr (words == 1) {
        use(i, n, draws(seed, element, n, buffer));
      } else {  // an element is half a block, and block indices wrap at 2^63
        uint64_t block = element >> 1;
        const int64_t skipped = static_cast<int64_t>(element & 1);
        for (int64_t done = 0; done < n + skipped; done += 2 * kBlocks, block += kBlocks)
          philox_blocks(seed, block, ~uint64_t{0} >> 1, buffer + 2 * done);
        use(i, n, buffer + 2 * skipped);
      }
    }
  });
}

TAPE_INLINE uint64_t bits64(const uint32_t* words) { return words[0] | uint64_t{words[1]} << 32; }
/// 53 random bits in [0, 1).
TAPE_INLINE double unit53(uint64_t bits) { return static_cast<double>(static_cast<int64_t>(bits >> 11)) * 0x1p-53; }

void uniform_f32(int64_t n, uint64_t seed, uint64_t counter, double from, double to, float* y) {
  const float low = static_cast<float>(from), high = static_cast<float>(to);
  const float width = high - low;
  for_draws<1>(n, seed, counter, [&](int64_t first, int64_t count, const uint32_t* word) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const float value = low + width * (static_cast<float>(static_cast<int32_t>(word[i] >> 8)) * 0x1p-24F);
      y[first + i] = value < high ? value : low;  // rounding may give `high`, which is excluded
    }
  });
}

void uniform_f64(int64_t n, uint64_t seed, uint64_t counter, double low, double high, double* y) {
  const double width = high - low;
  for_draws<2>(n, seed, counter, [&](int64_t first, int64_t count, const uint32_t* words) {
    for (int64_t i = 0; i < count; ++i) {
      const double value = low + width * unit53(bits64(words + 2 * i));
      y[first + i] = value < high ? value : low;
    }
  });
}

/// Natural logarithm of a positive normal number (fdlibm's e_log without its special cases).
TAPE_INLINE double log_of_positive(double x) {
  const int64_t bits = __builtin_bit_cast(int64_t, x);
  // The exponent for which the mantissa lies in [sqrt(1/2), sqrt(2)).
  const int64_t shifted = bits + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  const int64_t e = (shifted >> 52) - 1023;
  const double m = __builtin_bit_cast(double, bits - (e << 52));
  const double exponent = static_cast<double>(static_cast<int32_t>(e));
  return log_of_parts(m, exponent);
}

/// sin(2 pi u) and cos(2 pi u) for u in [0, 1): exact range reduction, then fdlibm's polynomials.
TAPE_INLINE void sine_of_turn(double u, double& sine, double& cosine) {
  const double quarters = 4.0 * u, next = quarters + 0.5;
  const int32_t q = static_cast<int32_t>(next);
  double s = 0, c = 0;
  sine_near_zero((quarters - static_cast<double>(q)) * 1.57079632679489661923, s, c);
  const double first = (q & 1) ? c : s, second = (q & 1) ? s : c;
  sine = (q & 2) ? -first : first;
  cosine = ((q + 1) & 2) ? -second : second;
}

/// Elements 2j and 2j + 1 are the two results of block j (Box and Muller 1958): words (0,1) give the radius, (2,3) the
/// angle.
template <class T>
void normal(int64_t n, uint64_t seed, uint64_t counter, double mean, double stddev, T* y) {
  // Rounded to T.
  const double mu = static_cast<double>(static_cast<T>(mean)), sigma = static_cast<double>(static_cast<T>(stddev));
  for_chunks(n, 4, [&](int64_t begin, int64_t end) {
    alignas(64) uint32_t words[4 * kBlocks];
    double pairs[2 * kBlocks];
    uint64_t element = counter + static_cast<uint64_t>(begin);
    for (int64_t i = begin; i < end;) {
      philox_blocks(seed, element >> 1, ~uint64_t{0} >> 1, words);
#pragma omp simd
      for (int j = 0; j < kBlocks; ++j) {
        const double radius = __builtin_sqrt(-2.0 * log_of_positive(unit53(bits64(words + 4 * j)) + 0x1p-53));
        double sine, cosine;
        sine_of_turn(unit53(bits64(words + 4 * j + 2)), sine, cosine);
        pairs[2 * j] = mu + sigma * (radius * cosine);
        pairs[2 * j + 1] = mu + sigma * (radius * sine);
      }
      const int64_t skipped = static_cast<int64_t>(element & 1), count = smaller(2 * kBlocks - skipped, end - i);
      for (int64_t k = 0; k < count; ++k) y[i + k] = static_cast<T>(pairs[skipped + k]);
      i += count;
      element += static_cast<uint64_t>(count);
    }
  });
}

template <class T>
void dropout(int64_t n, uint64_t seed, uint64_t counter, double p, const T* x, T* y) {
  const uint64_t threshold = drop_below(p);
  if (threshold >> 32) {
    for_chunks(n, 1, [&](int64_t begin, int64_t end) {
      __builtin_memset(y + begin, 0, static_cast<uint64_t>(end - begin) * sizeof(T));
    });
    return;
  }
  const uint32_t least = static_cast<uint32_t>(threshold);
  const T scale = static_cast<T>(1 / (1 - p));
  for_draws<1>(n, seed, counter, [&](int64_t first, int64_t count, const uint32_t* word) {
    const T* from = x + first;
    T* to = y + first;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const T value = from[i] * scale;
      to[i] = word[i] >= least ? value : T(0);
    }
  });
}
/// y[i] = value(u) for uniform u in (0, 1).
template <class T, class Value>
TAPE_INLINE void from_inside_unit(int64_t n, uint64_t seed, uint64_t counter, T* y, const Value& value) {
  for_draws<2>(n, seed, counter, [&](int64_t first, int64_t count, const uint32_t* words) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bits = static_cast<int64_t>(bits64(words + 2 * i) >> 12);
      y[first + i] = static_cast<T>(value((static_cast<double>(bits) + 0.5) * 0x1p-52));
    }
  });
}

template <class T>
void exponential(int64_t n, uint64_t seed, uint64_t counter, double rate, T* y) {
  from_inside_unit(n, seed, counter, y, [rate](double u) { return -log_of_positive(u) / rate; });
}
template <class T>
void gumbel(int64_t n, uint64_t seed, uint64_t counter, T* y) {
  from_inside_unit(n, seed, counter, y, [](double u) { return -log_of_positive(-log_of_positive(u)); });
}

template <class T>
void bernoulli(int64_t n, uint64_t seed, uint64_t counter, const T* p, T* y) {
  for_draws<2>(n, seed, counter, [&](int64_t first, int64_t count, const uint32_t* words) {
    for (int64_t i = 0; i < count; ++i)
      y[first + i] = unit53(bits64(words + 2 * i)) < static_cast<double>(p[first + i]) ? T(1) : T(0);
  });
}

template <class T, class Uniform>
constexpr RandomKernels<T> table(Uniform uniform) {
  return {.uniform = uniform,
          .normal = normal<T>,
          .dropout = dropout<T>,
          .exponential = exponential<T>,
          .gumbel = gumbel<T>,
          .bernoulli = bernoulli<T>};
}
}  // namespace

extern const RandomKernels<float> random_f32 = table<float>(uniform_f32);
extern const RandomKernels<double> random_f64 = table<double>(uniform_f64);

}  // namespace tape::kernels::TAPE_LEVEL
