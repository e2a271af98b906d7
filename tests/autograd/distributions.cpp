#include "autograd/distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "autograd/kernels/runtime/common/threads.h"
#include "autograd/normal_quantile.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Kolmogorov-Smirnov statistic between draws and their distribution function, times sqrt(n); 1.95 is exceeded once in
/// 1,000 runs.
double distance_from(const Tensor& draws, const std::function<double(double)>& below) {
  std::vector<double> x = draws.to(f64).to_vector<double>();
  std::sort(x.begin(), x.end());
  const double n = static_cast<double>(x.size());
  double distance = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = below(x[i]), place = static_cast<double>(i) / n;
    distance = std::max({distance, std::abs(p - place), std::abs(p - place - 1 / n)});
  }
  return distance * std::sqrt(n);
}

/// Pearson's chi-squared statistic of observed against expected counts.
double chi_square(const std::vector<double>& counts, const std::vector<double>& expected) {
  double statistic = 0;
  for (size_t i = 0; i < counts.size(); ++i) statistic += std::pow(counts[i] - expected[i], 2) / expected[i];
  return statistic;
}

TEST(Bernoulli, MatchesItsProbabilities) {
  Generator stream(3);
  const Tensor p = linspace(0, 1, 11, f64), rows = expand(p, {20'000, 11});
  const Tensor y = bernoulli(rows.clone(), stream);
  EXPECT_EQ(stream.counter(), 220'000u);
  const std::vector<double> share = mean(y, 0).to_vector<double>();
  for (size_t i = 0; i < 11; ++i) {
    const double chance = static_cast<double>(i) / 10;
    EXPECT_NEAR(share[i], chance, 4 * std::sqrt(chance * (1 - chance) / 20'000))
        << "p = 0 never draws 1, p = 1 always does";
  }
  Generator again(3);
  EXPECT_TRUE(tensors_equal(bernoulli(full({220'000}, 0.25), again).to(f64),
                            bernoulli(full({220'000}, 0.25, f64), stream = Generator(3))));
}

TEST(Bernoulli, RefusesValuesOutsideZeroToOne) {
  EXPECT_TAPE_ERROR(bernoulli(tensor({{0, 0.5, 1.5}})), ErrorKind::numeric,
                    "bernoulli: probability 1.5 at position [0, 2] is outside [0, 1]");
  EXPECT_TAPE_ERROR(bernoulli(tensor({NAN})), ErrorKind::numeric,
                    "bernoulli: probability nan at position 0 is outside [0, 1]");
  EXPECT_TAPE_ERROR(bernoulli(ones({2}, i64)), ErrorKind::dtype, "bernoulli: needs a floating dtype, got i64");
}

TEST(Exponential, FollowsItsDistribution) {
  Generator stream(4);
  for (const double rate : {0.5, 1.0, 3.0}) {
    const Tensor x = exponential({100'000}, rate, f64, stream);
    EXPECT_LT(distance_from(x, [rate](double v) { return -std::expm1(-rate * v); }), 1.95) << rate;
    EXPECT_GT(min(x).item(), 0);
    EXPECT_NEAR(mean(x).item() * rate, 1, 0.02);
  }
  EXPECT_TAPE_ERROR(exponential({2}, 0), ErrorKind::config, "exponential: rate must be above 0 and finite, got 0");
  EXPECT_THROW(exponential({2}, INFINITY), Error);
  EXPECT_TAPE_ERROR(exponential({2}, 1, i64), ErrorKind::dtype, "exponential: needs f32 or f64, got i64");
}

TEST(Gumbel, FollowsItsDistributionAndMean) {
  Generator stream(15), narrow(15);
  const Tensor x = gumbel({100'000}, f64, stream);
  EXPECT_LT(distance_from(x, [](double v) { return std::exp(-std::exp(-v)); }), 1.95);
  EXPECT_NEAR(mean(x).item(), 0.5772156649, 0.015);  // Euler's constant
  EXPECT_TRUE(tensors_equal(gumbel({100'000}, f32, narrow), x.to(f32)));
}

TEST(TruncatedNormal, FollowsItsDistribution) {
  Generator stream(6);
  for (const TruncatedNormalOptions& o :
       {TruncatedNormalOptions{}, {.mean = 1, .stddev = 2, .low = -1, .high = 0.5}, {.low = 3, .high = 5}}) {
    const double a = normal_cdf((o.low - o.mean) / o.stddev), b = normal_cdf((o.high - o.mean) / o.stddev);
    const Tensor x = truncated_normal({50'000}, o, f64, stream);
    EXPECT_LT(distance_from(x, [&](double v) { return (normal_cdf((v - o.mean) / o.stddev) - a) / (b - a); }), 1.95);
    EXPECT_GE(min(x).item(), o.low);
    EXPECT_LE(max(x).item(), o.high);
  }
  manual_seed(1);
  truncated_normal({3});
  EXPECT_EQ(generator(Stream::init).counter(), 3u) << "drawn from the initialization stream";
  EXPECT_TAPE_ERROR(truncated_normal({2}, {.low = 40, .high = 41}), ErrorKind::config,
                    "truncated_normal: [40, 41] has no probability mass this far from mean 0 (stddev 1)");
  EXPECT_TAPE_ERROR(truncated_normal({2}, {.stddev = -1}), ErrorKind::config,
                    "truncated_normal: needs a finite mean, stddev > 0 and low < high, got 0, -1, -2 and 2");
}

std::vector<double> counts_of(const Tensor& drawn, int64_t categories) {
  std::vector<double> counts(static_cast<size_t>(categories));
  for (const int64_t category : drawn.to_vector<int64_t>()) counts.at(static_cast<size_t>(category)) += 1;
  return counts;
}

TEST(Multinomial, DrawsInProportionToWeights) {
  Generator stream(7);
  const Tensor weights = tensor({{1, 0, 3, 4, 2}, {5, 5, 0, 0, 0}}, f64);
  const Tensor drawn = multinomial(weights, 50'000, {.replacement = true}, stream);
  ASSERT_EQ(drawn.shape(), Shape({2, 50'000}));
  std::vector<double> counts = counts_of(drawn[0], 5);
  EXPECT_EQ(counts[1], 0);
  counts.erase(counts.begin() + 1);
  EXPECT_LT(chi_square(counts, {5'000, 15'000, 20'000, 10'000}), 16.27)
      << "99.9% quantile for three degrees of freedom";
  counts = counts_of(drawn[1], 5);
  EXPECT_EQ(counts[2] + counts[3] + counts[4], 0);
  EXPECT_NEAR(counts[0], 25'000, 500);
}

/// Two draws without replacement: P(i, j) = w[i] / W * w[j] / (W - w[i]).
TEST(Multinomial, DrawsWithoutReplacementFromTheRest) {
  Generator stream(8);
  const std::vector<double> w{1, 2, 3, 0, 4};
  const int64_t rows = 40'000;
  const Tensor weights = expand(from_vector(w), {rows, 5}).clone();
  const std::vector<int64_t> drawn = multinomial(weights, 2, {}, stream).to_vector<int64_t>();
  std::map<std::pair<int64_t, int64_t>, double> seen;
  for (size_t i = 0; i < drawn.size(); i += 2) seen[{drawn[i], drawn[i + 1]}] += 1;
  std::vector<double> counts, expected;
  for (int64_t i = 0; i < 5; ++i)
    for (int64_t j = 0; j < 5; ++j) {
      if (i == j || i == 3 || j == 3) {
        EXPECT_FALSE(seen.contains({i, j})) << i << ", " << j;
        continue;
      }
      const double first = w[static_cast<size_t>(i)], second = w[static_cast<size_t>(j)];
      counts.push_back(seen[{i, j}]);
      expected.push_back(static_cast<double>(rows) * first / 10 * second / (10 - first));
    }
  EXPECT_LT(chi_square(counts, expected), 31.26) << "99.9% quantile for eleven degrees of freedom";
  std::vector<int64_t> all = multinomial(tensor({2, 1, 0, 7}), 3, {}, stream).to_vector<int64_t>();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, (std::vector<int64_t>{0, 1, 3}));
}

TEST(Multinomial, RefusesInvalidWeightsAndCounts) {
  const auto refused = [](const Tensor& weights, int64_t count, ErrorKind kind, const char* sentence) {
    EXPECT_TAPE_ERROR(multinomial(weights, count), kind, sentence);
  };
  refused(tensor({{1, 2}, {1, -0.5}}), 1, ErrorKind::numeric,
          "multinomial: weight -0.5 at position [1, 1] is negative or not finite");
  refused(tensor({1, NAN}), 1, ErrorKind::numeric, "multinomial: weight nan at position 1 is negative or not finite");
  refused(tensor({1, INFINITY}), 1, ErrorKind::numeric,
          "multinomial: weight inf at position 1 is negative or not finite");
  refused(tensor({{1, 2}, {0, 0}}), 1, ErrorKind::numeric, "multinomial: the weights of row 1 are all 0");
  refused(full({2}, 1.5e308, f64), 1, ErrorKind::numeric, "multinomial: the weights of row 0 sum to infinity");
  refused(tensor({{1, 2, 3}, {0, 0, 1}}), 2, ErrorKind::config,
          "multinomial: 2 draws without replacement from row 1, which has 1 weights above 0");
  refused(ones({3}), 0, ErrorKind::config, "multinomial: count must be at least 1, got 0");
  refused(ones({2, 2, 2}), 1, ErrorKind::shape, "multinomial: weights must be [V] or [B, V], got [2, 2, 2]");
  refused(ones({3}, i64), 1, ErrorKind::dtype, "multinomial: needs a floating dtype, got i64");
  EXPECT_EQ(multinomial(zeros({0, 3}), 2).shape(), Shape({0, 2}));
}

TEST(CategoricalSampler, AreNeverDrawnWithZeroWeight) {
  const std::vector<double> weights{0, 0.3, 0, 0.6, 0};
  const CategoricalSampler among(weights);
  EXPECT_EQ(among.at(0), 1);
  EXPECT_EQ(among.at(0.33), 1);
  EXPECT_EQ(among.at(0.34), 3);
  EXPECT_EQ(among.at(std::nextafter(1.0, 0.0)), 3);
  EXPECT_EQ(among.at(1), 3) << "rounding may push the draw past the last weight";
}

/// Draws from one stream must not depend on how they are split or on the number of threads.
TEST(Distributions, ContinueFromTheCounterOnAnyNumberOfThreads) {
  const int before = kernels::num_threads();
  const std::vector<std::function<Tensor(int64_t, Generator&)>> draws{
      [](int64_t n, Generator& g) { return exponential({n}, 2, f32, g); },
      [](int64_t n, Generator& g) { return gumbel({n}, f32, g); },
      [](int64_t n, Generator& g) { return bernoulli(full({n}, 0.3), g); }};
  for (const auto& draw : draws) {
    Generator whole(9);
    kernels::set_num_threads(1);
    const std::vector<float> expected = draw(70'001, whole).to_vector<float>();
    for (const int threads : {1, 2, 4}) {
      Generator parts(9);
      kernels::set_num_threads(threads);
      std::vector<float> found = draw(30'001, parts).to_vector<float>();
      const std::vector<float> rest = draw(40'000, parts).to_vector<float>();
      found.insert(found.end(), rest.begin(), rest.end());
      EXPECT_EQ(found, expected) << threads;
      EXPECT_EQ(parts, whole);
    }
  }
  kernels::set_num_threads(before);
}

TEST(Distributions, UseTheSamplingStream) {
  manual_seed(2);
  bernoulli(full({3}, 0.5));
  exponential({2});
  gumbel({4});
  multinomial(ones({5}), 1);
  multinomial(ones({5}), 3, {.replacement = true});
  EXPECT_EQ(generator(Stream::sampling).counter(), 3u + 2 + 4 + 5 + 3);
  for (const Stream other : {Stream::init, Stream::dropout, Stream::shuffle}) EXPECT_EQ(generator(other).counter(), 0u);
}

}  // namespace
}  // namespace tape
