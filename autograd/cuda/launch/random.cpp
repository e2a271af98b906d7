#include "autograd/kernels/random/random.h"

#include "autograd/cuda/launch/dropped.h"
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
  drop<T>(n, {seed, counter, p}, x, y);
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

template <class T>
void drop(int64_t n, const Dropout& dropout, const T* x, T* y) {
  launch_packs(kDropout.of<T>(), n, sizeof(T), dropped_by<T>(dropout), x, static_cast<const T*>(nullptr), y);
}
template <class T>
void add_dropped(int64_t n, const DroppedSum<T>& sum) {
  launch_packs(kDropout.of<T>(), n, sizeof(T), dropped_by<T>(sum.dropout), sum.b, sum.a, sum.z);
}
#define TAPE_INSTANTIATE(T)                                                \
  template void drop(int64_t n, const Dropout& dropout, const T* x, T* y); \
  template void add_dropped(int64_t n, const DroppedSum<T>& sum);
TAPE_INSTANTIATE(float)
TAPE_INSTANTIATE(double)
TAPE_INSTANTIATE(BFloat16)
#undef TAPE_INSTANTIATE

TAPE_DEFINE_TABLES(RandomKernels, random, .uniform = uniform<T>, .normal = normal<T>, .dropout = dropout<T>,
                   .exponential = exponential<T>, .gumbel = gumbel<T>, .bernoulli = bernoulli<T>,
                   .add_dropped = add_dropped<T>)
extern const RandomKernels<BFloat16> random_bf16 = {.uniform = missing,
                                                    .normal = missing,
                                                    .dropout = dropout<BFloat16>,
                                                    .exponential = missing,
                                                    .gumbel = missing,
                                                    .bernoulli = missing,
                                                    .add_dropped = add_dropped<BFloat16>};

}  // namespace tape::kernels::cuda
