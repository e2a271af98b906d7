// Updates of many parameters at once, with a block for each chunk of a parameter. The scale of the gradients and
// the failed check are computed on the device, and are null if there is nothing to scale or to check.
#include "../bf16.h"
#include "autograd/kernels/runtime/common/finding.h"
#include "autograd/kernels/training/random_rounding.h"
#include "autograd/kernels/training/step_report.h"
#include "optimizer_batch.h"

using tape::kernels::Finding;
using tape::kernels::StepReport;

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

/// Keeps the copy of a parameter that products with bf16 activations read.
__device__ inline void store_rounded(void* copy, int64_t i, float value) {
  if (copy) static_cast<bf16*>(copy)[i] = to_bf16(value);
}

/// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, p -= lr / c1 m / (sqrt(v) / sqrt(c2) + eps)
template <class T>
__device__ void update_by_adam(const AdamFactors<T>& f, T g, T& p, T& m, T& v) {
  if (f.decay != 0) g += p * f.decay;
  m = m * f.beta1 + g * f.rest1;
  v = v * f.beta2 + g * g * f.rest2;
  p = p * f.shrink - f.rate * m / (sqrt(v) / f.root + f.eps);
}

template <class T>
__device__ void adam(OptimizerBatch<AdamParameter<T>> batch, const double* scale, const Finding* failed) {
  const T factor = scale_of<T>(scale);
  for_values(batch, failed, [=](const AdamParameter<T>& of, const AdamFactors<T>& f, int64_t i) {
    T p = of.parameter[i], m = of.m[i], v = of.v[i];
    update_by_adam(f, of.gradient[i] * factor, p, m, v);
    of.m[i] = m;
    of.v[i] = v;
    of.parameter[i] = p;
    store_rounded(of.rounded, i, static_cast<float>(p));
  });
}

__device__ void adam_in_bf16(OptimizerBatch<Bf16AdamParameter> batch, const double* scale, const Finding* failed) {
  const float factor = scale_of<float>(scale);
  for_values(batch, failed, [=](const Bf16AdamParameter& of, const AdamFactors<float>& f, int64_t i) {
    float p = of.parameter[i];
    float m = __uint_as_float(uint32_t{of.m[i]} << 16), v = __uint_as_float(uint32_t{of.v[i]} << 16);
    update_by_adam(f, of.gradient[i] * factor, p, m, v);
    of.parameter[i] = p;
    store_rounded(of.rounded, i, p);
    const uint64_t random = tape::kernels::random_bits(of.key + static_cast<uint64_t>(i));
    of.m[i] = tape::kernels::rounded_at_random(__float_as_uint(m), static_cast<uint16_t>(random));
    of.v[i] = tape::kernels::rounded_at_random(__float_as_uint(v), static_cast<uint16_t>(random >> 16));
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

/// By one thread. The host computes norms with the same rounding.
template <class T>
__device__ void step_report(const StepReport<T>& of) {
  using Report = StepReport<T>;
  const double norm = __dmul_rn(of.mean, __dsqrt_rn(*of.squares));
  const double clip = of.max_norm > 0 ? fmin(1.0, __ddiv_rn(of.max_norm, __dadd_rn(norm, 1e-6))) : 1.0;
  bool finite = isfinite(*of.squares);
  for (int64_t i = 0; i < of.count; ++i) {
    const double loss = static_cast<double>(*of.losses[i]);
    of.report[Report::kLosses + i] = loss;
    finite = finite && isfinite(loss);
  }
  Finding found = *of.finding;
  if (!finite && found.check == 0) *of.finding = found = {of.check, 0, 0};
  of.report[Report::kNorm] = norm;
  of.report[Report::kScale] = __dmul_rn(of.mean, clip);
  of.report[Report::kCheck] = static_cast<double>(found.check);
  of.report[Report::kPosition] = static_cast<double>(found.position);
  of.report[Report::kValue] = static_cast<double>(found.value);
}

template <class T>
__device__ void scale_values(OptimizerBatch<ScaleParameter<T>> batch, const double*, const Finding* failed) {
  for_values(batch, failed,
             [](const ScaleParameter<T>& of, const ScaleFactors<T>& f, int64_t i) { of.values[i] *= f.factor; });
}

}  // namespace

TAPE_EXPORT(adam, (OptimizerBatch<AdamParameter<T>> batch, const double* scale, const Finding* failed),
            (batch, scale, failed))
TAPE_EXPORT_AS(adam_bf16, adam_in_bf16,
               (OptimizerBatch<Bf16AdamParameter> batch, const double* scale, const Finding* failed),
               (batch, scale, failed))
TAPE_EXPORT(sgd, (OptimizerBatch<SgdParameter<T>> batch, const double* scale, const Finding* failed),
            (batch, scale, failed))
TAPE_EXPORT(step_report, (StepReport<T> of), (of))
TAPE_EXPORT(scale_values, (OptimizerBatch<ScaleParameter<T>> batch, const double* scale, const Finding* failed),
            (batch, scale, failed))
