#include "models/decoding/sampling.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <nlohmann/json.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "tests/support/errors.h"
#include "tests/support/fixtures.h"

namespace tape::models {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// tests/fixtures/make_generate.py
TEST(Sampling, HasTheDistributionOfTransformers) {
  const auto& expected = fixture_json("generate.json").at("distributions");
  const auto logits = expected.at("logits").get<std::vector<double>>();
  const auto earlier = expected.at("earlier").get<std::vector<int64_t>>();
  size_t hidden = 0;
  for (const auto& one : expected.at("cases")) {
    const auto p = token_probabilities(logits, earlier,
                                       {.temperature = one.at("temperature"),
                                        .top_k = one.at("top_k"),
                                        .top_p = one.at("top_p"),
                                        .min_p = one.at("min_p"),
                                        .repetition_penalty = one.at("repetition_penalty")});
    const auto other = one.at("probabilities").get<std::vector<double>>();
    ASSERT_EQ(p.size(), other.size());
    for (size_t i = 0; i < p.size(); ++i) {
      EXPECT_NEAR(p[i], other[i], 1e-12) << "token " << i << " of " << one.dump();
      EXPECT_EQ(p[i] == 0, other[i] == 0) << "token " << i << " of " << one.dump();
      hidden += p[i] == 0;
    }
  }
  EXPECT_EQ(expected.at("cases").size(), 51u);
  EXPECT_GT(hidden, 300u);
}

TEST(Sampling, TakesTheLikeliestAtTemperatureZero) {
  const std::vector<double> logits{1, 3, -2, 3};
  EXPECT_EQ(token_probabilities(logits, {}, {.temperature = 0}), (std::vector<double>{0, 1, 0, 0}));
  const std::vector<int64_t> earlier{1};
  EXPECT_EQ(token_probabilities(logits, earlier, {.temperature = 0, .repetition_penalty = 1.1}),
            (std::vector<double>{0, 0, 0, 1}));
}

TEST(Sampling, ApproachesTheLikeliestAsTheTemperatureFalls) {
  const auto p = token_probabilities({1, 3, 2, -kInfinity}, {}, {.temperature = 1e-308});
  EXPECT_EQ(p, (std::vector<double>{0, 1, 0, 0}));
}

TEST(Sampling, NeverDrawsAScoreOfMinusInfinity) {
  const auto p = token_probabilities({0, -kInfinity, 0}, {}, {.temperature = 0.5, .top_k = 3, .top_p = 0.99});
  EXPECT_EQ(p, (std::vector<double>{0.5, 0, 0.5}));
}

/// Divided by the temperature, the other two would be equal.
TEST(Sampling, AppliesTopKBeforeTheTemperature) {
  const auto p = token_probabilities({1e17, 1, 2}, {}, {.temperature = 1e17, .top_k = 2});
  EXPECT_EQ(p[1], 0);
  EXPECT_NEAR(p[2], 1 / (1 + std::exp(1)), 1e-12);
}

TEST(Sampling, PenalizesARepeatedTokenOnce) {
  const std::vector<int64_t> once{0, 2}, often{2, 0, 2, 0, 0};
  const SamplingOptions options{.repetition_penalty = 1.5};
  EXPECT_EQ(token_probabilities({1, 2, -1}, often, options), token_probabilities({1, 2, -1}, once, options));
}

TEST(Sampling, ExcludesTokensThatLeaveExactlyTopP) {
  const auto kept = [](double top_p) { return token_probabilities({0, 0, 0, 0}, {}, {.top_p = top_p}); };
  EXPECT_EQ(kept(0.76), (std::vector<double>{0.25, 0.25, 0.25, 0.25}));
  EXPECT_EQ(kept(0.75), (std::vector<double>{0, 1.0 / 3, 1.0 / 3, 1.0 / 3}));
  EXPECT_EQ(kept(0.5), (std::vector<double>{0, 0, 0.5, 0.5}));
  EXPECT_EQ(kept(0), (std::vector<double>{0, 0, 0, 1}));
}

/// The result of top_p, computed by sorting all scores.
std::vector<double> sorted_top_p(const std::vector<double>& scores, double top_p) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  std::vector<double> p = token_probabilities(scores, {});
  double sum = 0, left = 0;
  for (size_t place = 0; place + 1 < order.size(); ++place) {
    sum += p[order[place]];
    if (!(sum <= 1 - top_p)) break;
    p[order[place]] = 0;
  }
  for (const double value : p) left += value;
  for (double& value : p) value /= left;
  return p;
}

TEST(Sampling, AppliesTopPToALargeVocabularyAsIfSorted) {
  Generator stream(6);
  for (const double spread : {0.0, 0.1, 1.0, 3.0, 10.0}) {
    std::vector<double> scores = (randn({5000}, f64, stream) * spread).to_vector<double>();
    for (size_t i = 0; i < scores.size(); i += 2) scores[i] = std::round(scores[i] * 4) / 4;  // many are equal
    for (const double top_p : {0.0, 0.05, 0.5, 0.9, 0.999, 1.0}) {
      const std::vector<double> expected = sorted_top_p(scores, top_p),
                                found = token_probabilities(scores, {}, {.top_p = top_p});
      for (size_t i = 0; i < scores.size(); ++i) {
        ASSERT_EQ(found[i] > 0, expected[i] > 0) << i << ", spread " << spread << ", top_p " << top_p;
        ASSERT_NEAR(found[i], expected[i], 1e-12);
      }
    }
  }
}

TEST(Sampling, DrawsTheNextTokenFromTheProbabilities) {
  Generator stream(7), a(3), b(3);
  const std::vector<double> scores = randn({50}, f64, stream).to_vector<double>();
  const std::vector<int64_t> earlier{4, 9};
  const SamplingOptions options{.temperature = 0.8, .top_k = 20, .repetition_penalty = 1.2};
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(next_token(scores, earlier, options, a), draw(token_probabilities(scores, earlier, options), b));
  const SamplingOptions greedy{.temperature = 0, .repetition_penalty = 3};
  const uint64_t before = a.counter();
  EXPECT_EQ(next_token(scores, earlier, greedy, a), draw(token_probabilities(scores, earlier, greedy), b));
  EXPECT_EQ(a.counter(), before);
  EXPECT_TAPE_ERROR(next_token({0, NAN}, {}, greedy, a), ErrorKind::numeric, "generate: the score of token 1 is nan");
}

/// Pearson's chi-squared statistic of draws against their distribution.
double chi_square(const std::vector<double>& p, int64_t draws, uint64_t seed) {
  Generator stream(seed);
  std::vector<double> counts(p.size(), 0.0);
  for (int64_t i = 0; i < draws; ++i) counts[static_cast<size_t>(draw(p, stream))] += 1;
  double sum = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const double expected = p[i] * static_cast<double>(draws);
    if (p[i] == 0) {
      EXPECT_EQ(counts[i], 0) << "token " << i << " has no probability";
      continue;
    }
    sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

TEST(Sampling, DrawsWithTheFrequenciesOfTheDistribution) {
  const std::vector<double> logits{0.5, -1, 2, 0, 1.2, -0.3, 0.9, -2, 1, 0.1};
  for (const uint64_t seed : {1u, 2u, 3u}) {
    const auto p = token_probabilities(logits, {}, {.temperature = 0.9, .top_k = 8});
    // 7 degrees of freedom: above 24.3 with probability 0.001, and below 0.6 as well.
    const double statistic = chi_square(p, 20000, seed);
    EXPECT_LT(statistic, 24.3) << "seed " << seed;
    EXPECT_GT(statistic, 0.6) << "seed " << seed << ": too even for draws";
  }
}

TEST(Sampling, DrawsTheSameWithTheSameSeed) {
  const std::vector<double> p{0.2, 0.3, 0.5};
  Generator a(7), b(7), c(8);
  std::vector<int64_t> first, second, other;
  for (int i = 0; i < 50; ++i) {
    first.push_back(draw(p, a));
    second.push_back(draw(p, b));
    other.push_back(draw(p, c));
  }
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
}

TEST(Sampling, RefusesSettingsOutOfRange) {
  const std::vector<double> logits{1, 2};
  const auto refused = [&](const SamplingOptions& options) { token_probabilities(logits, {}, options); };
  const auto kind = ErrorKind::config;
  EXPECT_TAPE_ERROR(refused({.temperature = -1}), kind, "generate: temperature must be at least 0, got -1");
  EXPECT_TAPE_ERROR(refused({.temperature = NAN}), kind, "generate: temperature must be at least 0, got nan");
  EXPECT_TAPE_ERROR(refused({.top_k = -1}), kind, "generate: top_k must be at least 0 (0: all), got -1");
  EXPECT_TAPE_ERROR(refused({.top_p = 1.5}), kind, "generate: top_p must be from 0 to 1, got 1.5");
  EXPECT_TAPE_ERROR(refused({.min_p = -0.1}), kind, "generate: min_p must be from 0 to 1, got -0.1");
  EXPECT_TAPE_ERROR(refused({.repetition_penalty = 0}), kind,
                    "generate: repetition_penalty must be greater than 0, got 0");
}

TEST(Sampling, NamesScoresThatCannotBeSampled) {
  EXPECT_TAPE_ERROR(token_probabilities({0, NAN}, {}), ErrorKind::numeric, "generate: the score of token 1 is nan");
  EXPECT_TAPE_ERROR(token_probabilities({kInfinity}, {}), ErrorKind::numeric, "generate: the score of token 0 is inf");
  EXPECT_TAPE_ERROR(token_probabilities({-kInfinity, -kInfinity}, {}), ErrorKind::numeric,
                    "generate: all 2 scores are -inf");
}

}  // namespace
}  // namespace tape::models
