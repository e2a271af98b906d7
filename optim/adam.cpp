#include "optim/adam.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/kernels/training/optimizer.h"
#include "autograd/ops/kernel_call.h"
#include "base/bfloat16.h"
#include "optim/kernel_updates.h"

namespace tape::optim {

namespace {

/// A parameter whose running means are bf16, and the source of its random bits.
struct HalvesUpdate {
  int64_t group, n;
  const float* gradient;
  float* parameter;
  uint16_t *m, *v;
  uint64_t key, first;  // key of this parameter and step; index of its first value
};

uint16_t* bf16_values(const KernelCall& at, Tensor& kept) { return static_cast<uint16_t*>(at.out(kept)); }

/// SplitMix64 (Steele et al. 2014), whose outputs for neighboring counters are uncorrelated.
uint64_t mixed(uint64_t counter) {
  uint64_t x = counter * 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

uint64_t key_of(size_t parameter, int64_t step) { return mixed(mixed(parameter + 1) + static_cast<uint64_t>(step)); }

/// Stochastic rounding of a finite value to one of its two bf16 neighbors. `random` has 16 uniform bits; the expected
/// result is the value.
uint16_t rounded_at_random(float value, uint16_t random) {
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(value) + random) >> 16);
}

constexpr int64_t kHalvesChunk = 4096;

/// Updates values [begin, end), with their means converted to f32 for the f32 kernel.
void update_chunk(const KernelCall& at, const kernels::GradientState& gradients,
                  const StepTable<kernels::AdamStep>& steps, const HalvesUpdate& u, int64_t begin, int64_t end) {
  std::array<float, kHalvesChunk> m, v;
  const auto count = static_cast<size_t>(end - begin);
  for (size_t i = 0; i < count; ++i) {
    m[i] = bfloat16_value(u.m[begin + static_cast<int64_t>(i)]);
    v[i] = bfloat16_value(u.v[begin + static_cast<int64_t>(i)]);
  }
  const kernels::AdamUpdate<float> part{.group = u.group,
                                        .n = end - begin,
                                        .gradient = u.gradient + begin,
                                        .parameter = u.parameter + begin,
                                        .m = m.data(),
                                        .v = v.data()};
  kernels::optimizer<float>(at).adam(gradients, steps.size(), steps.data(), 1, &part);
  for (size_t i = 0; i < count; ++i) {
    const int64_t place = begin + static_cast<int64_t>(i);
    const uint64_t random = mixed(u.key + u.first + static_cast<uint64_t>(place));
    u.m[place] = rounded_at_random(m[i], static_cast<uint16_t>(random));
    u.v[place] = rounded_at_random(v[i], static_cast<uint16_t>(random >> 16));
  }
}

void update_halves(const KernelCall& at, const kernels::GradientState& gradients,
                   const StepTable<kernels::AdamStep>& steps, const std::vector<HalvesUpdate>& updates) {
  std::vector<std::pair<size_t, int64_t>> chunks;  // index of the update, and the chunk's first value
  for (size_t i = 0; i < updates.size(); ++i)
    for (int64_t begin = 0; begin < updates[i].n; begin += kHalvesChunk) chunks.emplace_back(i, begin);
  kernels::run_tasks(std::ssize(chunks), [&](int64_t task) {
    const auto& [i, begin] = chunks[static_cast<size_t>(task)];
    update_chunk(at, gradients, steps, updates[i], begin, std::min(begin + kHalvesChunk, updates[i].n));
  });
}

}  // namespace

Adam::Adam(const char* name, const ParameterGroups& groups, const AdamOptions& options, bool decoupled)
    : Optimizer(groups, {.name = name,
                         .lr = options.lr,
                         .weight_decay = options.weight_decay,
                         .check_finite = options.check_finite,
                         .state_names = {"m", "v"},
                         .squares = "v",
                         .halves = options.moments == MomentDtype::bf16}),
      options_(options),
      decoupled_(decoupled) {
  for (size_t i = 0; i < 2; ++i)
    if (!(options.betas[i] >= 0 && options.betas[i] < 1))
      raise(ErrorKind::config, "{}: betas must be in [0, 1), got {} and {}", name, options.betas[0], options.betas[1]);
  check_not_negative(name, "eps", options.eps);
}

void Adam::update(const std::vector<Update>& updates, double gradient_scale) {
  if (updates.empty()) return;
  const Device device = updates.front().of.values.device();
  const auto run = [&](const KernelCall& at) { update(at, updates, gradient_scale); };
  // The update of bf16 means is the host's.
  if (options_.moments == MomentDtype::bf16)
    run_on_host("Adam", device, run);
  else
    run_kernels("Adam", device, run);
}

void Adam::update(const KernelCall& at, const std::vector<Update>& updates, double gradient_scale) {
  const auto [beta1, beta2] = options_.betas;
  StepTable<kernels::AdamStep> steps;
  UpdatesByDtype<kernels::AdamUpdate> whole;
  std::vector<HalvesUpdate> halves;
  for (const Update& u : updates) {
    Tensor values = u.of.values;
    const double count = static_cast<double>(u.slot.steps);
    const int64_t group = steps.group({.lr = u.lr,
                                       .beta1 = beta1,
                                       .beta2 = beta2,
                                       .eps = options_.eps,
                                       .weight_decay = u.weight_decay,
                                       .decoupled = decoupled_,
                                       .bias_correction1 = 1 - std::pow(beta1, count),
                                       .bias_correction2 = 1 - std::pow(beta2, count)});
    if (u.slot.kept[0].dtype() == bf16) {
      halves.push_back({.group = group,
                        .n = u.of.gradient.numel(),
                        .gradient = at.in<float>(u.of.gradient),
                        .parameter = at.out<float>(values),
                        .m = bf16_values(at, u.slot.kept[0]),
                        .v = bf16_values(at, u.slot.kept[1]),
                        .key = key_of(u.of.parameter, u.slot.steps),
                        .first = static_cast<uint64_t>(u.of.first)});
      continue;
    }
    dispatch_floating("Adam", u.slot.parameter.dtype(), [&](auto zero) {
      using T = decltype(zero);
      whole.of<T>().push_back({.group = group,
                               .n = u.of.gradient.numel(),
                               .gradient = at.in<T>(u.of.gradient),
                               .parameter = at.out<T>(values),
                               .m = at.out<T>(u.slot.kept[0]),
                               .v = at.out<T>(u.slot.kept[1])});
    });
  }
  const Tensor scale = scalar(gradient_scale, {f64, updates.front().of.values.device()});
  const kernels::GradientState gradients{.scale = at.in<double>(scale), .failed = at.failed_checks()};
  update_halves(at, gradients, steps, halves);
  whole.run([&]<class T>(int64_t count, const kernels::AdamUpdate<T>* of) {
    kernels::optimizer<T>(at).adam(gradients, steps.size(), steps.data(), count, of);
  });
}

}  // namespace tape::optim
