#include "autograd/kernels/training/optimizer.h"

#include <bit>

#include "autograd/kernels/training/random_rounding.h"
#include "autograd/kernels/vector/vec_math.h"
#include "base/bfloat16.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
T scale_of(const GradientState& gradients) {
  return static_cast<T>(gradients.scale ? *gradients.scale : 1);
}

/// Updates values [begin, end) of a parameter.
template <class T>
void adam_part(const AdamStep& step, T scale, const AdamUpdate<T>& u, int64_t begin, int64_t end) {
  const T b1 = static_cast<T>(step.beta1), rest1 = static_cast<T>(1 - step.beta1);
  const T b2 = static_cast<T>(step.beta2), rest2 = static_cast<T>(1 - step.beta2);
  const T rate = static_cast<T>(step.lr / step.bias_correction1), eps = static_cast<T>(step.eps);
  const T root = static_cast<T>(__builtin_sqrt(step.bias_correction2));
  const T shrink = static_cast<T>(step.decoupled ? 1 - step.lr * step.weight_decay : 1);
  const T decay = static_cast<T>(step.decoupled ? 0 : step.weight_decay);
  for (int64_t i = begin; i < end; i += kLanes<T>) {
    const int64_t left = end - i;
    Vec<T> p = load_first_or_all(u.parameter + i, left, T(0));
    Vec<T> g = load_first_or_all(u.gradient + i, left, T(0)) * scale;
    if (decay != 0) g += p * decay;
    p *= shrink;
    const Vec<T> first = load_first_or_all(u.m + i, left, T(0)) * b1 + g * rest1;
    const Vec<T> second = load_first_or_all(u.v + i, left, T(0)) * b2 + g * g * rest2;
    p -= rate * first / (square_root(second) / root + eps);
    store_first_or_all(u.m + i, first, left);
    store_first_or_all(u.v + i, second, left);
    store_first_or_all(u.parameter + i, p, left);
  }
}

template <class T>
void sgd_part(const SgdStep& step, T scale, const SgdUpdate<T>& u, int64_t begin, int64_t end) {
  const T rate = static_cast<T>(step.lr), momentum = static_cast<T>(step.momentum);
  const T rest = static_cast<T>(1 - step.dampening), decay = static_cast<T>(step.weight_decay);
  for (int64_t i = begin; i < end; i += kLanes<T>) {
    const int64_t left = end - i;
    const Vec<T> p = load_first_or_all(u.parameter + i, left, T(0));
    Vec<T> g = load_first_or_all(u.gradient + i, left, T(0)) * scale;
    if (decay != 0) g += p * decay;
    if (momentum != 0) {
      const Vec<T> b = step.first ? g : load_first_or_all(u.buffer + i, left, T(0)) * momentum + g * rest;
      store_first_or_all(u.buffer + i, b, left);
      g = step.nesterov ? g + b * momentum : b;
    }
    store_first_or_all(u.parameter + i, p - g * rate, left);
  }
}

/// Parameters whose chunks are distributed together.
constexpr int64_t kBatch = 256;

/// Calls part(update, begin, end) for chunks of the values of each parameter; does nothing if a check has failed.
/// Allocates nothing: a failure would leave some parameters changed.
template <class Update, class Part>
TAPE_INLINE void for_updates(const GradientState& gradients, int64_t count, const Update* updates, const Part& part) {
  if (gradients.failed && gradients.failed->check) return;
  for (; count > 0; count -= kBatch, updates += kBatch) {
    const int64_t parameters = smaller(count, kBatch);
    // Chunks are numbered across all parameters; first[i] is the first chunk of parameter i.
    int64_t first[kBatch + 1] = {0};
    for (int64_t i = 0; i < parameters; ++i) first[i + 1] = first[i] + ceil_div(updates[i].n, kChunk);
    for_tasks(first[parameters], first[parameters] > 2, [&](int64_t chunk) {
      int64_t low = 0, high = parameters;  // first[low] <= chunk < first[high]
      while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        (first[middle] <= chunk ? low : high) = middle;
      }
      const int64_t begin = (chunk - first[low]) * kChunk;
      part(updates[low], begin, smaller(updates[low].n, begin + kChunk));
    });
  }
}

template <class T>
void adam(const GradientState& gradients, int64_t, const AdamStep* steps, int64_t count, const AdamUpdate<T>* updates) {
  const T scale = scale_of<T>(gradients);
  for_updates(gradients, count, updates, [=](const AdamUpdate<T>& u, int64_t begin, int64_t end) {
    adam_part(steps[u.group], scale, u, begin, end);
  });
}

/// Values whose means are converted together, on the stack.
constexpr int64_t kStretch = 1024;

void adam_in_bf16(const GradientState& gradients, int64_t, const AdamStep* steps, int64_t count,
                  const Bf16AdamUpdate* updates) {
  const float scale = scale_of<float>(gradients);
  for_updates(gradients, count, updates, [=](const Bf16AdamUpdate& u, int64_t begin, int64_t end) {
    float m[kStretch], v[kStretch];
    for (int64_t at = begin; at < end; at += kStretch) {
      const int64_t n = smaller(kStretch, end - at);
      for (int64_t i = 0; i < n; ++i) {
        m[i] = bfloat16_value(u.m[at + i]);
        v[i] = bfloat16_value(u.v[at + i]);
      }
      adam_part(steps[u.group], scale, AdamUpdate<float>{u.group, n, u.gradient + at, u.parameter + at, m, v}, 0, n);
      for (int64_t i = 0; i < n; ++i) {
        const uint64_t random = random_bits(u.key + static_cast<uint64_t>(at + i));
        u.m[at + i] = rounded_at_random(std::bit_cast<uint32_t>(m[i]), static_cast<uint16_t>(random));
        u.v[at + i] = rounded_at_random(std::bit_cast<uint32_t>(v[i]), static_cast<uint16_t>(random >> 16));
      }
    }
  });
}

template <class T>
void sgd(const GradientState& gradients, int64_t, const SgdStep* steps, int64_t count, const SgdUpdate<T>* updates) {
  const T scale = scale_of<T>(gradients);
  for_updates(gradients, count, updates, [=](const SgdUpdate<T>& u, int64_t begin, int64_t end) {
    sgd_part(steps[u.group], scale, u, begin, end);
  });
}
template <class T>
void scale(double factor, int64_t count, const ScaleUpdate<T>* updates) {
  for_updates({}, count, updates, [=](const ScaleUpdate<T>& u, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += kLanes<T>)
      store_first_or_all(u.values + i, load_first_or_all(u.values + i, end - i, T(0)) * static_cast<T>(factor),
                         end - i);
  });
}
template <class T>
void report(const StepReport<T>& of) {
  using Report = StepReport<T>;
  const double norm = of.mean * __builtin_sqrt(*of.squares);
  const double bound = of.max_norm / (norm + 1e-6), clip = of.max_norm > 0 && bound < 1 ? bound : 1;
  double finite = *of.squares * 0;  // 0, or NaN
  for (int64_t i = 0; i < of.count; ++i) {
    const double loss = *of.losses[i];
    of.report[Report::kLosses + i] = loss;
    finite += loss * 0;
  }
  if (finite != 0 && of.finding->check == 0) *of.finding = {.check = of.check};
  of.report[Report::kNorm] = norm;
  of.report[Report::kScale] = of.mean * clip;
  of.report[Report::kCheck] = static_cast<double>(of.finding->check);
  of.report[Report::kPosition] = static_cast<double>(of.finding->position);
  of.report[Report::kValue] = static_cast<double>(of.finding->value);
}

}  // namespace

TAPE_DEFINE_TABLES(OptimizerKernels, optimizer, adam<T>, sgd<T>, scale<T>, report<T>)
extern const Bf16OptimizerKernels bf16_optimizer = {adam_in_bf16};

}  // namespace tape::kernels::TAPE_LEVEL
