#include "autograd/kernels/training/optimizer.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

/// Host or device memory, by the target.
template <class T>
class OptimizerMemory {
 public:
  OptimizerMemory(bool on_device, const Array<T>& values) : host_(values) {
    if (on_device) device_ = std::make_unique<DeviceArray<T>>(values);
  }
  T* get() { return device_ ? device_->get() : host_.data(); }
  Array<T> values() const { return device_ ? device_->values() : host_; }

 private:
  Array<T> host_;
  std::unique_ptr<DeviceArray<T>> device_;
};

template <class T>
struct Optimized {
  OptimizerMemory<T> gradient, values, m, v;
  Optimized(bool on_device, int64_t n, uint32_t seed, const std::vector<double>& specials)
      : gradient(on_device, with_specials<T>(n, seed, specials, 31)),
        values(on_device, random_values<T>(n, seed + 1)),
        m(on_device, random_values<T>(n, seed + 2)),
        v(on_device, squares(random_values<T>(n, seed + 3))) {}
  static Array<T> squares(Array<T> x) {
    for (T& value : x) value *= value;
    return x;
  }
};

/// What an update is given, and for which sizes: `failed` and `scale` may be null.
struct OptimizerCase {
  std::vector<int64_t> sizes;
  std::vector<double> specials;
  const double* scale = nullptr;
  const bool* failed = nullptr;
  int64_t groups = 3;
};

AdamStep adam_step(int64_t group) {
  return {.lr = 0.01 * static_cast<double>(1 + group),
          .beta1 = 0.9,
          .beta2 = 0.99,
          .eps = 1e-8,
          .weight_decay = group % 3 == 0 ? 0 : 0.1,
          .decoupled = group % 3 == 1,
          .bias_correction1 = 0.2,
          .bias_correction2 = 0.02};
}
SgdStep sgd_step(int64_t group) {
  return {.lr = 0.01 * static_cast<double>(1 + group),
          .momentum = group % 4 == 0 ? 0 : 0.9,
          .dampening = group % 4 == 1 ? 0.3 : 0,
          .weight_decay = group % 3 == 0 ? 0 : 0.1,
          .nesterov = group % 4 == 2,
          .first = group % 5 == 3};
}

template <class T>
class CudaOptimizer : public KernelTest<T> {
 protected:
  /// All values after one step, one parameter after the other.
  Array<T> after(bool on_device, bool adam, const OptimizerCase& c) {
    const OptimizerKernels<T>& kernels = on_device ? optimizer<T>(kOnDevice) : optimizer<T>();
    OptimizerMemory<double> scale(on_device, {c.scale ? *c.scale : 0});
    OptimizerMemory<Finding> finding(on_device, {{.check = c.failed && *c.failed ? 2 : 0}});
    const GradientState state = {.scale = c.scale ? scale.get() : nullptr,
                                 .failed = c.failed ? finding.get() : nullptr};
    std::vector<AdamStep> adam_steps;
    std::vector<SgdStep> sgd_steps;
    for (int64_t group = 0; group < c.groups; ++group) {
      adam_steps.push_back(adam_step(group));
      sgd_steps.push_back(sgd_step(group));
    }
    std::vector<Optimized<T>> parameters;
    std::vector<AdamUpdate<T>> adam_updates;
    std::vector<SgdUpdate<T>> sgd_updates;
    for (size_t i = 0; i < c.sizes.size(); ++i) {
      const auto seed = static_cast<uint32_t>(10 * i);
      Optimized<T>& p = parameters.emplace_back(on_device, c.sizes[i], seed, c.specials);
      const int64_t group = static_cast<int64_t>(i) / 2 % c.groups, n = c.sizes[i];
      adam_updates.push_back({group, n, p.gradient.get(), p.values.get(), p.m.get(), p.v.get()});
      sgd_updates.push_back({group, n, p.gradient.get(), p.values.get(),
                             sgd_steps[static_cast<size_t>(group)].momentum == 0 ? nullptr : p.m.get()});
    }
    const int64_t count = static_cast<int64_t>(c.sizes.size());
    if (adam)
      kernels.adam(state, c.groups, adam_steps.data(), count, adam_updates.data());
    else
      kernels.sgd(state, c.groups, sgd_steps.data(), count, sgd_updates.data());
    Array<T> all;
    for (const Optimized<T>& p : parameters)
      for (const OptimizerMemory<T>* memory : {&p.values, &p.m, &p.v})
        for (const T value : memory->values()) all.push_back(value);
    return all;
  }
  void check(const OptimizerCase& c) {
    for (const bool adam : {true, false}) {
      SCOPED_TRACE(fmt::format("{} of {} parameters", adam ? "adam" : "sgd", c.sizes.size()));
      const Array<T> expected = after(false, adam, c);
      expect_close(this->on_device([&] { return after(true, adam, c); }), expected, "update");
    }
  }
};
TYPED_TEST_SUITE(CudaOptimizer, BothTypes);

TYPED_TEST(CudaOptimizer, UpdatesAsTheCpu) {
  const double scale = 0.3;
  const bool yes = true, no = false;
  this->check({.sizes = {}, .specials = {0}});
  this->check({.sizes = {0, 1, 31, 33, 1000, 5000, 0}, .specials = {0, 1e-6, -100}});
  this->check({.sizes = {33, 2049, 7}, .specials = {0}, .scale = &scale, .failed = &no});
  this->check({.sizes = {33, 7}, .specials = {kNan, kInf}, .scale = &scale});
  this->check({.sizes = {33, 7}, .specials = {kNan, kInf}, .failed = &yes});
  this->check({.sizes = std::vector<int64_t>(130, 3), .specials = {0}, .scale = &scale, .groups = 40});
}

TYPED_TEST(CudaOptimizer, ScalesManyArrays) {
  using T = TypeParam;
  for (const int64_t arrays : {0, 1, 130}) {
    const auto after = [&](bool on_device) {
      std::vector<std::unique_ptr<OptimizerMemory<T>>> memory;
      std::vector<ScaleUpdate<T>> updates;
      for (int64_t i = 0; i < arrays; ++i) {
        const int64_t n = i == 5 ? 5000 : i % 40;
        memory.push_back(
            std::make_unique<OptimizerMemory<T>>(on_device, random_values<T>(n, static_cast<uint32_t>(i))));
        updates.push_back({n, memory.back()->get()});
      }
      const auto& kernels = on_device ? optimizer<T>(kOnDevice) : optimizer<T>();
      kernels.scale(0.3, arrays, updates.data());
      Array<T> all;
      for (const auto& values : memory)
        for (const T value : values->values()) all.push_back(value);
      return all;
    };
    const auto actual = this->on_device([&] { return after(true); });
    expect_close(actual, after(false), "scaled values");
  }
}

/// Means, which both devices round by the same bits, differ by one bf16 where the f32 before rounding does in its last
/// bits, so all but a few are equal.
TEST(CudaBf16Optimizer, RoundsAsTheCpu) {
  constexpr int64_t n = 5000;
  const std::vector<AdamStep> steps{adam_step(0), adam_step(1)};
  const auto after = [&](bool on_device) {
    const GradientState state = {};
    Array<uint16_t> halves(static_cast<size_t>(n));
    for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(0x3c00 + i % 512);
    OptimizerMemory<float> gradient(on_device, random_values<float>(n, 1)),
        values(on_device, random_values<float>(n, 2));
    OptimizerMemory<uint16_t> m(on_device, halves), v(on_device, halves);
    std::vector<Bf16AdamUpdate> updates;
    for (const auto& [group, begin, end] : {std::array<int64_t, 3>{0, 0, 33}, {1, 33, 34}, {1, 34, n}})
      updates.push_back({group, end - begin, gradient.get() + begin, values.get() + begin, m.get() + begin,
                         v.get() + begin, static_cast<uint64_t>(7 * begin)});
    const auto& kernels = on_device ? bf16_optimizer(kOnDevice) : bf16_optimizer();
    kernels.adam(state, 2, steps.data(), std::ssize(updates), updates.data());
    return std::tuple(values.values(), m.values(), v.values());
  };
  const auto [values, m, v] = after(false);
  const auto [device_values, device_m, device_v] = [&] {
    const TestDevice device;
    return after(true);
  }();
  expect_close(device_values, values, "parameters");
  for (const auto& [found, expected] : {std::pair(device_m, m), std::pair(device_v, v)}) {
    int64_t other = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(found[i], expected[i], 1) << i;
      other += found[i] != expected[i];
    }
    EXPECT_LT(other, n / 500);
  }
}

}  // namespace
}  // namespace tape::kernels
