#include "autograd/kernels/training/optimizer.h"

#include <bit>
#include <cmath>

#include "base/bfloat16.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Optimizer : public EveryLevel {};

template <class T>
void check_adam() {
  for (const int64_t n : {0, 1, 7, 16, 33, 100001})
    for (const bool decoupled : {false, true})
      for (const double decay : {0.0, 0.1}) {
        const AdamStep step{0.01, 0.9, 0.98, 1e-9, decay, decoupled, 1 - std::pow(0.9, 3), 1 - std::pow(0.98, 3)};
        const std::vector<T> g = random_values<T>(n, 1);
        std::vector<T> p = random_values<T>(n, 2), m = random_values<T>(n, 3), v = random_values<T>(n, 4, 0, 1);
        std::vector<long double> p2(p.begin(), p.end()), m2(m.begin(), m.end()), v2(v.begin(), v.end());
        for (size_t i = 0; i < p.size(); ++i) {
          long double gradient = static_cast<long double>(g[i]) * 0.5L;
          if (!decoupled) gradient += decay * p2[i];
          if (decoupled) p2[i] *= 1 - step.lr * decay;
          m2[i] = step.beta1 * m2[i] + (1 - step.beta1) * gradient;
          v2[i] = step.beta2 * v2[i] + (1 - step.beta2) * gradient * gradient;
          p2[i] -= step.lr / step.bias_correction1 * m2[i] / (std::sqrt(v2[i] / step.bias_correction2) + step.eps);
        }
        const AdamUpdate<T> update{0, n, g.data(), p.data(), m.data(), v.data()};
        const double half = 0.5;
        optimizer<T>().adam({.scale = &half}, 1, &step, 1, &update);
        expect_close(m, m2, tolerance<T>(3e-7, 1e-15), "m");
        expect_close(v, v2, tolerance<T>(3e-7, 1e-15), "v");
        expect_close(p, p2, tolerance<T>(1e-6, 1e-14), "parameter");
      }
}
TEST_P(Optimizer, AdamFollowsItsFormula) {
  check_adam<float>();
  check_adam<double>();
}

/// With means in bf16, the parameter is that of the f32 kernel, and each mean one of the two neighbors of the f32's.
TEST_P(Optimizer, AdamRoundsMeansInBf16AtRandom) {
  const AdamStep step{0.01, 0.9, 0.98, 1e-9, 0.1, true, 0.1, 0.02};
  for (const int64_t n : {0, 1, 33, 1025, 40000}) {
    const std::vector<float> g = random_values<float>(n, 1);
    std::vector<float> p = random_values<float>(n, 2), expected = p, m, v;
    std::vector<uint16_t> half_m, half_v;
    for (int64_t i = 0; i < n; ++i) {
      half_m.push_back(bfloat16_bits(0.01F * static_cast<float>(i % 97 - 48)));
      half_v.push_back(bfloat16_bits(0.01F * static_cast<float>(i % 89)));
      m.push_back(bfloat16_value(half_m.back()));
      v.push_back(bfloat16_value(half_v.back()));
    }
    const AdamUpdate<float> whole{0, n, g.data(), expected.data(), m.data(), v.data()};
    optimizer<float>().adam({}, 1, &step, 1, &whole);
    const Bf16AdamUpdate update{0, n, g.data(), p.data(), half_m.data(), half_v.data(), 5};
    bf16_optimizer().adam({}, 1, &step, 1, &update);
    EXPECT_EQ(p, expected);
    double up = 0;  // how often a mean is rounded away from zero, less how often it should be
    for (size_t i = 0; i < m.size(); ++i)
      for (const auto& [found, exact] : {std::pair(half_m[i], m[i]), std::pair(half_v[i], v[i])}) {
        const uint32_t bits = std::bit_cast<uint32_t>(exact), above = found - (bits >> 16);
        ASSERT_TRUE(above == 0 || (above == 1 && (bits & 0xffff) != 0)) << i;
        up += above - static_cast<double>(bits & 0xffff) / 0x10000;
      }
    EXPECT_LT(std::abs(up), 4 * std::sqrt(static_cast<double>(n) / 2) + 1);
  }
}

/// Parameters of all sizes updated together, in groups with their own learning rates, end up as if updated one by one.
TEST_P(Optimizer, AdamUpdatesManyParametersAsOneByOne) {
  std::vector<int64_t> sizes{5, 0, 40000, 16384, 1, 16385, 7};
  for (int64_t i = 0; i < 600; ++i) sizes.push_back(i % 40);  // more than one batch
  std::vector<std::vector<float>> g, together, alone, m, v;
  for (const int64_t n : sizes) {
    g.push_back(random_values<float>(n, static_cast<unsigned>(g.size())));
    for (auto* values : {&together, &alone, &m, &v}) values->emplace_back(static_cast<size_t>(n), 0.5F);
  }
  auto m2 = m, v2 = v;
  std::vector<AdamStep> steps;
  for (const double lr : {0.01, 0.02, 0.03}) steps.push_back({lr, 0.9, 0.98, 1e-9, 0, false, 0.1, 0.02});
  const auto group = [](size_t i) { return static_cast<int64_t>(i * 2 % 3); };
  const auto update = [&](size_t i, auto& p, auto& first, auto& second) {
    return AdamUpdate<float>{group(i), sizes[i], g[i].data(), p[i].data(), first[i].data(), second[i].data()};
  };
  std::vector<AdamUpdate<float>> all;
  for (size_t i = 0; i < sizes.size(); ++i) all.push_back(update(i, together, m, v));
  optimizer<float>().adam({}, std::ssize(steps), steps.data(), std::ssize(all), all.data());
  for (size_t i = 0; i < sizes.size(); ++i) {
    AdamUpdate<float> one = update(i, alone, m2, v2);
    one.group = 0;
    optimizer<float>().adam({}, 1, &steps[static_cast<size_t>(group(i))], 1, &one);
  }
  EXPECT_EQ(together, alone);
  EXPECT_EQ(m, m2);
  EXPECT_EQ(v, v2);
}

template <class T>
void check_sgd() {
  for (const int64_t n : {0, 1, 7, 16, 33, 100001})
    for (const double momentum : {0.0, 0.9})
      for (const bool nesterov : {false, true})
        for (const bool first : {false, true}) {
          const SgdStep step{0.1, momentum, 0.2, 0.05, nesterov, first};
          const std::vector<T> g = random_values<T>(n, 1);
          std::vector<T> p = random_values<T>(n, 2), buffer = random_values<T>(n, 3);
          std::vector<long double> p2(p.begin(), p.end()), b2(buffer.begin(), buffer.end());
          for (size_t i = 0; i < p.size(); ++i) {
            long double gradient = 2 * static_cast<long double>(g[i]) + 0.05L * p2[i];
            if (momentum != 0) {
              b2[i] = first ? gradient : momentum * b2[i] + 0.8L * gradient;
              gradient = nesterov ? gradient + momentum * b2[i] : b2[i];
            }
            p2[i] -= 0.1L * gradient;
          }
          const SgdUpdate<T> update{0, n, g.data(), p.data(), momentum != 0 ? buffer.data() : nullptr};
          const double twice = 2;
          optimizer<T>().sgd({.scale = &twice}, 1, &step, 1, &update);
          expect_close(p, p2, tolerance<T>(5e-7, 1e-15), "parameter");
          expect_close(buffer, b2, tolerance<T>(5e-7, 1e-15), "buffer");
        }
}
TEST_P(Optimizer, SgdFollowsItsFormula) {
  check_sgd<float>();
  check_sgd<double>();
}

TEST_P(Optimizer, SgdUpdatesManyParametersAsOneByOne) {
  const std::vector<double> g = random_values<double>(40000, 1);
  std::vector<double> first(5, 1), second(40000, 2), buffer(40000, 3);
  const SgdStep steps[] = {{0.5, 0.5, 0, 0, false, false}, {0.25, 0, 0, 0, false, false}};
  const SgdUpdate<double> updates[] = {{1, 5, g.data(), first.data(), nullptr},
                                       {0, 40000, g.data(), second.data(), buffer.data()}};
  optimizer<double>().sgd({}, 2, steps, 2, updates);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_DOUBLE_EQ(first[i], 1 - 0.25 * g[i]) << i;
  for (size_t i = 0; i < second.size(); ++i) ASSERT_DOUBLE_EQ(second[i], 2 - 0.5 * (1.5 + g[i])) << i;
}

TEST_P(Optimizer, ChangesNothingIfACheckHasFailed) {
  const std::vector<float> g(100, 1), before(100, 2);
  std::vector<float> p = before, m = before, v = before;
  const AdamStep adam{0.01, 0.9, 0.98, 1e-9, 0, false, 0.1, 0.02};
  const AdamUpdate<float> adam_update{0, 100, g.data(), p.data(), m.data(), v.data()};
  const SgdStep sgd{0.1, 0.9, 0, 0, false, false};
  const SgdUpdate<float> sgd_update{0, 100, g.data(), p.data(), m.data()};
  Finding finding = {.check = 3};
  optimizer<float>().adam({.failed = &finding}, 1, &adam, 1, &adam_update);
  optimizer<float>().sgd({.failed = &finding}, 1, &sgd, 1, &sgd_update);
  EXPECT_EQ(p, before);
  EXPECT_EQ(m, before);
  EXPECT_EQ(v, before);
  finding = {};
  optimizer<float>().adam({.failed = &finding}, 1, &adam, 1, &adam_update);
  EXPECT_NE(p, before);
  const std::vector<float> after = p;
  optimizer<float>().sgd({.failed = &finding}, 1, &sgd, 1, &sgd_update);
  EXPECT_NE(p, after);
}

TEST_P(Optimizer, IsBitwiseEqualForAnyThreadCount) {
  const std::vector<float> g = random_values<float>(100001, 5);
  expect_same_bits([&] {
    std::vector<float> p(g.size(), 1), m(g.size(), 0), v(g.size(), 0);
    const AdamStep step{0.01, 0.9, 0.98, 1e-9, 0, false, 0.1, 0.02};
    const AdamUpdate<float> update{0, 100001, g.data(), p.data(), m.data(), v.data()};
    optimizer<float>().adam({}, 1, &step, 1, &update);
    return p;
  });
}

TAPE_EVERY_LEVEL(Optimizer);

}  // namespace
}  // namespace tape::kernels::testing
