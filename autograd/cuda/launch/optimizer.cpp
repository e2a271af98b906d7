#include "autograd/kernels/training/optimizer.h"

#include <cmath>

#include "autograd/cuda/kernels/training/optimizer_batch.h"
#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kAdam = TAPE_FLOAT_KERNELS(adam), kSgd = TAPE_FLOAT_KERNELS(sgd);
constinit const FloatKernels kScale = TAPE_FLOAT_KERNELS(scale_values);
constinit const FloatKernels kReport = TAPE_FLOAT_KERNELS(step_report);
constinit const Kernel kBf16Adam("adam_bf16");

template <class T>
AdamFactors<T> factors_of(const AdamStep& step) {
  return {.beta1 = static_cast<T>(step.beta1),
          .rest1 = static_cast<T>(1 - step.beta1),
          .beta2 = static_cast<T>(step.beta2),
          .rest2 = static_cast<T>(1 - step.beta2),
          .rate = static_cast<T>(step.lr / step.bias_correction1),
          .root = static_cast<T>(std::sqrt(step.bias_correction2)),
          .eps = static_cast<T>(step.eps),
          .shrink = static_cast<T>(step.decoupled ? 1 - step.lr * step.weight_decay : 1),
          .decay = static_cast<T>(step.decoupled ? 0 : step.weight_decay)};
}
template <class T>
SgdFactors<T> factors_of(const SgdStep& step) {
  return {.rate = static_cast<T>(step.lr),
          .momentum = static_cast<T>(step.momentum),
          .rest = static_cast<T>(1 - step.dampening),
          .decay = static_cast<T>(step.weight_decay),
          .nesterov = step.nesterov,
          .first = step.first};
}
template <class T>
ScaleFactors<T> factors_of(double factor) {
  return {static_cast<T>(factor)};
}
template <class T>
ScaleParameter<T> parameter_of(const ScaleUpdate<T>& u, int64_t factors, int64_t first) {
  return {factors, first, u.n, u.values};
}
/// The index of an update's step.
template <class Update>
int64_t group_of(const Update& update) {
  if constexpr (requires { update.group; })
    return update.group;
  else
    return 0;
}
template <class T>
AdamParameter<T> parameter_of(const AdamUpdate<T>& u, int64_t factors, int64_t first) {
  return {factors, first, u.n, u.gradient, u.parameter, u.m, u.v, u.rounded};
}
Bf16AdamParameter parameter_of(const Bf16AdamUpdate& u, int64_t factors, int64_t first) {
  return {factors, first, u.n, u.gradient, u.parameter, u.m, u.v, u.key, u.rounded};
}
template <class T>
SgdParameter<T> parameter_of(const SgdUpdate<T>& u, int64_t factors, int64_t first) {
  return {factors, first, u.n, u.gradient, u.parameter, u.buffer};
}

/// Launches the updates in batches: a batch ends where it has no place for another parameter, or for the factors of
/// another group than the last one.
template <class T, class Parameter, class Step, class Update>
void update_in_batches(const Kernel& kernel, const GradientState& gradients, const Step* steps, int64_t count,
                       const Update* updates) {
  using Batch = OptimizerBatch<Parameter>;
  static_assert(sizeof(Batch) + 2 * sizeof(void*) <= 4096);
  Batch batch = {};
  int64_t group = -1, factors = 0, chunks = 0;
  const auto launch = [&] {
    kernel({static_cast<uint32_t>(chunks)}, {256}, batch, gradients.scale, gradients.failed);
    batch.count = factors = chunks = 0;
    group = -1;
  };
  for (int64_t i = 0; i < count; ++i) {
    const Update& update = updates[i];
    if (batch.count == Batch::kMostParameters || (group_of(update) != group && factors == Batch::kMostFactors))
      launch();
    if (group_of(update) != group) {
      group = group_of(update);
      batch.factors[factors++] = factors_of<T>(steps[group]);
    }
    batch.parameters[batch.count++] = parameter_of(update, factors - 1, chunks);
    chunks += quotient_up(update.n, Batch::kChunk);
  }
  launch();
}

template <class T>
void update_by_adam(const GradientState& gradients, int64_t, const AdamStep* steps, int64_t count,
                    const AdamUpdate<T>* updates) {
  update_in_batches<T, AdamParameter<T>>(kAdam.of<T>(), gradients, steps, count, updates);
}
void update_by_bf16_adam(const GradientState& gradients, int64_t, const AdamStep* steps, int64_t count,
                         const Bf16AdamUpdate* updates) {
  update_in_batches<float, Bf16AdamParameter>(kBf16Adam, gradients, steps, count, updates);
}
template <class T>
void update_by_sgd(const GradientState& gradients, int64_t, const SgdStep* steps, int64_t count,
                   const SgdUpdate<T>* updates) {
  update_in_batches<T, SgdParameter<T>>(kSgd.of<T>(), gradients, steps, count, updates);
}
template <class T>
void scale_values(double factor, int64_t count, const ScaleUpdate<T>* updates) {
  update_in_batches<T, ScaleParameter<T>>(kScale.of<T>(), {}, &factor, count, updates);
}
template <class T>
void report(const StepReport<T>& of) {
  kReport.of<T>()({1}, {1}, of);
}
}  // namespace

TAPE_DEFINE_TABLES(OptimizerKernels, optimizer, .adam = update_by_adam<T>, .sgd = update_by_sgd<T>,
                   .scale = scale_values<T>, .report = report<T>)
extern const Bf16OptimizerKernels bf16_optimizer = {.adam = update_by_bf16_adam};

}  // namespace tape::kernels::cuda
