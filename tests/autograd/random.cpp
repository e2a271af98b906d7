#include "autograd/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <thread>

#include "autograd/create.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

TEST(Random, ContinuesFromSeedAndCounter) {
  Generator whole(5), first(5), second;
  const std::vector<double> expected = randn({100}, f64, whole).to_vector<double>();
  std::vector<double> found = randn({40}, f64, first).to_vector<double>();
  EXPECT_EQ(first.counter(), 40u);
  second.set_state(first.seed(), first.counter());
  const std::vector<double> rest = randn({60}, f64, second).to_vector<double>();
  found.insert(found.end(), rest.begin(), rest.end());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(second.counter(), whole.counter());
}

TEST(Random, HasASeparateStreamPerSeed) {
  manual_seed(3);
  std::set<double> draws;
  for (int use = 0; use < kStreams; ++use) draws.insert(generator(static_cast<Stream>(use)).uniform());
  EXPECT_EQ(draws.size(), static_cast<size_t>(kStreams));
  manual_seed(3);
  EXPECT_EQ(draws.count(generator(Stream::shuffle).uniform()), 1u);
  manual_seed(4);
  EXPECT_EQ(draws.count(generator(Stream::shuffle).uniform()), 0u);
}

TEST(Random, UsesSeparateStreamsPerPurpose) {
  manual_seed(1);
  const auto counter = [](Stream stream) { return generator(stream).counter(); };
  randn({3});
  rand({4});
  EXPECT_EQ(counter(Stream::init), 7u);
  EXPECT_EQ(counter(Stream::shuffle), 0u);
  randperm(5);
  EXPECT_EQ(counter(Stream::shuffle), 4u);
  EXPECT_EQ(counter(Stream::dropout), 0u);
  EXPECT_EQ(counter(Stream::sampling), 0u);
}

TEST(Random, NormalHasItsMomentsAndEqualValuesInBothDtypes) {
  Generator stream(11), again(11);
  const std::vector<double> x = randn({100'000}, f64, stream).to_vector<double>();
  double mean = 0, square = 0, cube = 0, fourth = 0;
  for (double v : x) mean += v, square += v * v, cube += v * v * v, fourth += v * v * v * v;
  const double n = static_cast<double>(x.size());
  EXPECT_NEAR(mean / n, 0, 0.02);
  EXPECT_NEAR(square / n, 1, 0.03);
  EXPECT_NEAR(cube / n, 0, 0.06);
  EXPECT_NEAR(fourth / n, 3, 0.2);
  const std::vector<float> y = randn({100'000}, f32, again).to_vector<float>();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_FLOAT_EQ(y[i], static_cast<float>(x[i])) << i;
}

TEST(Random, UniformCoversTheUnitInterval) {
  Generator stream(12);
  for (DType dtype : {f32, f64}) {
    std::vector<double> x = rand({100'000}, dtype, stream).to(f64).to_vector<double>();
    std::sort(x.begin(), x.end());
    EXPECT_GE(x.front(), 0);
    EXPECT_LT(x.back(), 1);
    double distance = 0;  // Kolmogorov-Smirnov statistic; 1.95 / sqrt(n) is exceeded once in 1,000 runs
    for (size_t i = 0; i < x.size(); ++i)
      distance = std::max(distance, std::abs(x[i] - static_cast<double>(i) / static_cast<double>(x.size())));
    EXPECT_LT(distance, 1.95 / std::sqrt(1e5));
  }
}

TEST(Random, IntegersCoverTheirRangeEvenly) {
  Generator stream(13);
  const Tensor x = randint(-2, 5, {70'000}, stream);
  std::vector<int> count(7);
  for (int64_t v : x.to_vector<int64_t>()) {
    ASSERT_GE(v, -2);
    ASSERT_LT(v, 5);
    ++count[static_cast<size_t>(v + 2)];
  }
  for (int c : count) EXPECT_NEAR(c, 10'000, 500);
  EXPECT_TAPE_ERROR(randint(3, 3, {1}), ErrorKind::config, "randint: low must be less than high, got 3 and 3");
  EXPECT_TAPE_ERROR(randint(-2, INT64_MAX, {1}), ErrorKind::config,
                    "randint: the range from -2 to 9223372036854775807 has more than 2^63 - 1 values");
  EXPECT_TAPE_ERROR(stream.below(0), ErrorKind::config, "random: the bound must be at least 1, got 0");
  EXPECT_EQ(stream.below(1), 0);
}

TEST(Random, PermutationsContainEachIndexOnce) {
  Generator stream(14);
  std::vector<int64_t> order = randperm(1000, stream).to_vector<int64_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, arange(1000).to_vector<int64_t>());
  EXPECT_EQ(randperm(0, stream).numel(), 0);
  // All six orders of three occur.
  std::set<std::vector<int64_t>> seen;
  for (int i = 0; i < 200; ++i) seen.insert(randperm(3, stream).to_vector<int64_t>());
  EXPECT_EQ(seen.size(), 6u);
}

double first_draw() { return generator(Stream::dropout).uniform(); }

double first_draw_of_a_thread() {
  double drawn = -1;
  std::thread([&] { drawn = first_draw(); }).join();
  return drawn;
}

TEST(Random, ThreadsHaveSeparateStreams) {
  manual_seed(5);
  const double first = first_draw_of_a_thread();
  EXPECT_EQ(generator(Stream::dropout).counter(), 0u) << "this thread's stream is unused";
  first_draw();
  EXPECT_EQ(first_draw_of_a_thread(), first) << "independent of draws in other threads";
  double seeded = -1;
  std::thread([&] {
    manual_seed(6);
    seeded = first_draw();
  }).join();
  EXPECT_EQ(first_draw_of_a_thread(), first) << "only the main thread sets the process's seed";
  manual_seed(5);
  EXPECT_NE(first_draw(), first) << "the main thread draws other values";
  manual_seed(6);
  EXPECT_EQ(first_draw(), seeded) << "a seed set by a thread gives the same values in every thread";
  EXPECT_NE(first_draw_of_a_thread(), first);
}

TEST(Random, ForkRestoresTheStreams) {
  manual_seed(7);
  first_draw();
  const RandomState before = random_state();
  RandomState other = before;
  other[1].set_state(9, 4);
  {
    const ForkRandom random(other);
    EXPECT_EQ(random_state(), other);
    randn({3});
    random.rewind();
    EXPECT_EQ(random_state(), before);
    first_draw();
  }
  EXPECT_EQ(random_state(), before);
}

TEST(Random, RefusesIntegerDtypes) {
  EXPECT_TAPE_ERROR(randn({2}, i64), ErrorKind::dtype, "randn: needs f32 or f64, got i64");
  EXPECT_TAPE_ERROR(rand({2}, boolean), ErrorKind::dtype, "rand: needs f32 or f64, got bool");
}

}  // namespace
}  // namespace tape
