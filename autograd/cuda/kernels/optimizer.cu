// Updates of many parameters at once, with a block for each chunk of a parameter. The scale of the gradients and
// the failed check are computed on the device, and are null if there is nothing to scale or to check.
#include "autograd/kernels/runtime/common/finding.h"
#include "device.h"
#include "optimizer_batch.h"

using tape::kernels::Finding;

namespace {

/// Calls update(parameter, its factors, i) for the values of this block's chunk, unless a check has failed.
template <class Parameter, class Update>
__device__ void for_values(const OptimizerBatch<Parameter>& batch, const Finding* failed, const Update& update) {
  if (failed && failed->check) return;
  const int64_t chunk = blockIdx.x;
  int64_t low = 0, high = batch.count;  // first[low] <= chunk < first[high]
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (batch.parameters[middle].first <= chunk ? low : high) = middle;
  }
  const Parameter& parameter = batch.parameters[low];
  const int64_t begin = (chunk - parameter.first) * batch.kChunk, end = min(parameter.n, begin + batch.kChunk);
  for (int64_t i = begin + static_cast<int64_t>(threadIdx.x); i < end; i += static_cast<int64_t>(blockDim.x))
    update(parameter, batch.factors[parameter.factors], i);
}
template <class T>
__device__ T scale_of(const double* scale) {
  return static_cast<T>(scale ? *scale : 1);
}

/// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, p -= lr / c1 m / (sqrt(v) / sqrt(c2) + eps)
template <class T>
__device__ void adam(OptimizerBatch<AdamParameter<T>> batch, const double* scale, const Finding* failed) {
  const T factor = scale_of<T>(scale);
  for_values(batch, failed, [=](const AdamParameter<T>& of, const AdamFactors<T>& f, int64_t i) {
    const T p = of.parameter[i];
    T g = of.gradient[i] * factor;
    if (f.decay != 0) g += p * f.decay;
    const T m = of.m[i] * f.beta1 + g * f.rest1, v = of.v[i] * f.beta2 + g * g * f.rest2;
    of.m[i] = m;
    of.v[i] = v;
    of.parameter[i] = p * f.shrink - f.rate * m / (sqrt(v) / f.root + f.eps);
  });
}

/// b = momentum b + (1 - dampening) g, p -= lr (g + momentum b with Nesterov, else b)
template <class T>
__device__ void sgd(OptimizerBatch<SgdParameter<T>> batch, const double* scale, const Finding* failed) {
  const T factor = scale_of<T>(scale);
  for_values(batch, failed, [=](const SgdParameter<T>& of, const SgdFactors<T>& f, int64_t i) {
    const T p = of.parameter[i];
    T g = of.gradient[i] * factor;
    if (f.decay != 0) g += p * f.decay;
    if (f.momentum != 0) {
      const T b = f.first ? g : of.buffer[i] * f.momentum + g * f.rest;
      of.buffer[i] = b;
      g = f.nesterov ? g + b * f.momentum : b;
    }
    of.parameter[i] = p - g * f.rate;
  });
}

}  // namespace

TAPE_EXPORT(adam, (OptimizerBatch<AdamParameter<T>> batch, const double* scale, const Finding* failed),
            (batch, scale, failed))
TAPE_EXPORT(sgd, (OptimizerBatch<SgdParameter<T>> batch, const double* scale, const Finding* failed),
            (batch, scale, failed))
