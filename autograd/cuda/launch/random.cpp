#include "autograd/kernels/random/random.h"

#include "autograd/cuda/launch/elements.h"
#include "autograd/kernels/runtime/common/missing.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kUniform = TAPE_FLOAT_KERNELS(uniform), kNormal = TAPE_FLOAT_KERNELS(normal);
constinit const ValueKernels kDropout = TAPE_VALUE_KERNELS(dropout);
constinit const FloatKernels kExponential = TAPE_FLOAT_KERNELS(exponential);
constinit const FloatKernels kGumbel = TAPE_FLOAT_KERNELS(gumbel), kBernoulli = TAPE_FLOAT_KERNELS(bernoulli);

template <class T>
void uniform(int64_t n, uint64_t seed, uint64_t counter, double low, double high, T* y) {
  launch_elements(kUniform.of<T>(), n, n, seed, counter, static_cast<T>(low), static_cast<T>(high), y);
}
template <class T>
void normal(int64_t n, uint64_t seed, uint64_t counter, double mean, double stddev, T* y) {
  // Rounded to T, as on the CPU.
  const double mu = static_cast<double>(static_cast<T>(mean)), sigma = static_cast<double>(static_cast<T>(stddev));
  launch_elements(kNormal.of<T>(), n, n, seed, counter, mu, sigma, y);
}
template <class T>
void dropout(int64_t n, uint64_t seed, uint64_t counter, double p, const T* x, T* y) {
  if (p >= 1) return cuda_device::fill_bytes(y, 0, n * static_cast<int64_t>(sizeof(T)));
  const uint32_t least = p <= 0 ? 0 : static_cast<uint32_t>(p * 4294967296.0);
  launch_packs(kDropout.of<T>(), n, sizeof(T), seed, counter, least, static_cast<Sum<T>>(1 / (1 - p)), x, y);
}
template <class T>
void exponential(int64_t n, uint64_t seed, uint64_t counter, double rate, T* y) {
  launch_elements(kExponential.of<T>(), n, n, seed, counter, rate, y);
}
template <class T>
void gumbel(int64_t n, uint64_t seed, uint64_t counter, T* y) {
  launch_elements(kGumbel.of<T>(), n, n, seed, counter, y);
}
template <class T>
void bernoulli(int64_t n, uint64_t seed, uint64_t counter, const T* p, T* y) {
  launch_elements(kBernoulli.of<T>(), n, n, seed, counter, p, y);
}

}  // namespace

TAPE_DEFINE_TABLES(RandomKernels, random, .uniform = uniform<T>, .normal = normal<T>, .dropout = dropout<T>,
                   .exponential = exponential<T>, .gumbel = gumbel<T>, .bernoulli = bernoulli<T>)
extern const RandomKernels<BFloat16> random_bf16 = {.uniform = missing,
                                                    .normal = missing,
                                                    .dropout = dropout<BFloat16>,
                                                    .exponential = missing,
                                                    .gumbel = missing,
                                                    .bernoulli = missing};

}  // namespace tape::kernels::cuda
