#include "autograd/kernels/random/random.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

constexpr uint64_t kSeed = 0x123456789abcdef0;
// The start and the middle of a block, and ones at which element and block indices wrap.
constexpr uint64_t kCounters[] = {0, 3, (uint64_t{1} << 40) + 1, ~uint64_t{0} - 4};

/// Expects the same bits from draw(table, pointer) of both devices.
template <class T, class Draw>
void expect_same_draws(TestDevice& device, const char* what, int64_t n, const Draw& draw) {
  Array<T> expected(static_cast<size_t>(n));
  draw(random<T>(), expected.data());
  const auto drawn = in_every_schedule(device, [&] {
    const DeviceArray<T> y(expected.size());
    draw(random<T>(kOnDevice), y.get());
    return y.values();
  });
  // A GPU may fuse the last multiplication and addition.
  if (cuda_device::test_on_gpu()) return expect_close(drawn, expected, what);
  expect_same_bits(drawn, expected, what);
}

template <class T>
void expect_draws_of_the_cpu(TestDevice& device, int64_t n, uint64_t counter) {
  SCOPED_TRACE(std::to_string(n) + " values from " + std::to_string(counter));
  const std::vector<T> x = random_values<T>(n), chances = special_and_random<T>(n, 1, 0, 1);
  const DeviceArray<T> x_there(x), chances_there(chances);
  const auto of = [](const RandomKernels<T>& table, const std::vector<T>& here, const DeviceArray<T>& there) {
    return &table == &random<T>() ? here.data() : there.constant();
  };
  expect_same_draws<T>(device, "uniform", n,
                       [&](const RandomKernels<T>& table, T* y) { table.uniform(n, kSeed, counter, -0.1, 0.7, y); });
  expect_same_draws<T>(device, "normal", n,
                       [&](const RandomKernels<T>& table, T* y) { table.normal(n, kSeed, counter, 0.3, 1.7, y); });
  for (const double rate : {0.0, 0.1, 0.999, 1.0})
    expect_same_draws<T>(device, "dropout", n, [&](const RandomKernels<T>& table, T* y) {
      table.dropout(n, kSeed, counter, rate, of(table, x, x_there), y);
    });
  const std::vector<T> other = random_values<T>(n, 2);
  const DeviceArray<T> other_there(other);
  expect_same_draws<T>(device, "add_dropped", n, [&](const RandomKernels<T>& table, T* y) {
    const Dropout dropout{kSeed, counter, 0.4};
    if (&table != &random<T>()) return table.add_dropped(n, {other_there.constant(), x_there.constant(), dropout, y});
    table.dropout(n, kSeed, counter, 0.4, x.data(), y);
    for (size_t i = 0; i < x.size(); ++i) y[i] += other[i];
  });
  expect_same_draws<T>(device, "exponential", n,
                       [&](const RandomKernels<T>& table, T* y) { table.exponential(n, kSeed, counter, 0.3, y); });
  expect_same_draws<T>(device, "gumbel", n,
                       [&](const RandomKernels<T>& table, T* y) { table.gumbel(n, kSeed, counter, y); });
  expect_same_draws<T>(device, "bernoulli", n, [&](const RandomKernels<T>& table, T* y) {
    table.bernoulli(n, kSeed, counter, of(table, chances, chances_there), y);
  });
}

TEST(CudaRandom, HasTheBitsOfTheCpu) {
  TestDevice device;
  for (const int64_t n : kCounts)
    for (const uint64_t counter : kCounters) {
      expect_draws_of_the_cpu<float>(device, n, counter);
      expect_draws_of_the_cpu<double>(device, n, counter);
    }
}

}  // namespace
}  // namespace tape::kernels
