#include "autograd/kernels/rounded_rows.h"

#include <algorithm>
#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Memory for rows, and x and biases for them.
struct Rows {
  Rows(int64_t n, int64_t k, unsigned seed)
      : weight(random_values<float>(n * k, seed)),
        bias(random_values<float>(n, seed + 1)),
        values(static_cast<size_t>(n * RoundedRows{.n = n, .k = k}.stride()), 77),
        scale(static_cast<size_t>(n)),
        bounds(scale),
        upper(scale) {
    rows = {n, k, values.data(), scale.data(), bounds.data()};
    x = random_values<float>(rows.stride(), seed + 2);
    std::fill(x.begin() + k, x.end(), 0.0F);
  }
  void round() { rounded_rows().round(rows, weight.data()); }
  float bracket(bool with_bias = true) {
    double squares = 0;
    for (const float value : x) squares += static_cast<double>(value) * value;
    return rounded_rows().bracket(rows, x.data(), static_cast<float>(std::sqrt(squares) * 1.000001),
                                  with_bias ? bias.data() : nullptr, upper.data());
  }
  /// x . w[i] as doubles, and as floats one after the other.
  double exact(int64_t i) const {
    double sum = 0;
    for (int64_t j = 0; j < rows.k; ++j) sum += static_cast<double>(x[at(j)]) * weight[at(i * rows.k + j)];
    return sum;
  }
  float in_order(int64_t i) const {
    float sum = 0;
    for (int64_t j = 0; j < rows.k; ++j) sum += x[at(j)] * weight[at(i * rows.k + j)];
    return sum;
  }
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  std::vector<float> weight, bias, x;
  std::vector<int8_t> values;
  std::vector<float> scale, bounds, upper;
  RoundedRows rows;
};

class RoundedRowsTest : public EveryLevel {};

TEST_P(RoundedRowsTest, AreTheNearestOf255Values) {
  for (const int64_t k : {1, 15, 16, 17, 100}) {
    Rows r(5, k, 3);
    r.round();
    for (int64_t i = 0; i < 5; ++i) {
      for (int64_t j = 0; j < k; ++j) {
        const float w = r.weight[Rows::at(i * k + j)];
        const float value = r.values[Rows::at(i * r.rows.stride() + j)] * r.scale[Rows::at(i)];
        EXPECT_LE(std::abs(w - value), 0.5001F * r.scale[Rows::at(i)]) << i << ", " << j << " of " << k;
      }
      for (int64_t j = k; j < r.rows.stride(); ++j) EXPECT_EQ(r.values[Rows::at(i * r.rows.stride() + j)], 0);
    }
  }
}

TEST_P(RoundedRowsTest, BracketEveryProduct) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {7, 33}, {1030, 64}, {300, 1000}})
    for (const bool with_bias : {false, true}) {
      Rows r(n, k, static_cast<unsigned>(n));
      r.weight[0] = 1e3F;  // an outlier: the rest of its row is rounded coarsely
      r.round();
      const float least = r.bracket(with_bias);
      double most = -kInf;
      for (int64_t i = 0; i < n; ++i) {
        const float bias = with_bias ? r.bias[Rows::at(i)] : 0;
        const double y = r.exact(i) + bias;
        EXPECT_GE(r.upper[Rows::at(i)], y);
        EXPECT_GE(r.upper[Rows::at(i)], r.in_order(i) + bias);
        most = std::max({most, y});
      }
      EXPECT_LE(least, most);
      EXPECT_GE(least, most - 60) << "and not by far";
    }
}

TEST_P(RoundedRowsTest, BoundsAreSmallBesideTheProducts) {
  Rows r(1000, 512, 9);
  r.round();
  const float least = r.bracket(false);
  const auto candidates = std::count_if(r.upper.begin(), r.upper.end(), [&](float upper) { return upper >= least; });
  EXPECT_GE(candidates, 1);
  EXPECT_LE(candidates, 30);
}

TEST_P(RoundedRowsTest, ThatHoldNoNumbersOrNextToNothingStayInTheRunning) {
  Rows r(6, 20, 5);
  for (int64_t j = 0; j < 20; ++j) r.weight[Rows::at(j)] = 0;            // all zeros
  for (int64_t j = 0; j < 20; ++j) r.weight[Rows::at(20 + j)] = 1e-40F;  // below what a scale can be
  r.weight[Rows::at(2 * 20 + 3)] = NAN;
  r.weight[Rows::at(3 * 20 + 4)] = -kInf;
  for (int64_t j = 0; j < 20; ++j) r.weight[Rows::at(4 * 20 + j)] = 3e38F;
  r.round();
  const float least = r.bracket(false);
  EXPECT_TRUE(std::isfinite(least) || least == -kInf);
  EXPECT_EQ(r.scale[0], 0);
  EXPECT_GE(r.upper[0], 0);
  EXPECT_GE(r.upper[1], r.exact(1));
  for (const size_t i : {2U, 3U}) {
    EXPECT_EQ(r.bounds[i], kInf);
    EXPECT_FALSE(r.upper[i] < least) << i;
  }
}

TEST_P(RoundedRowsTest, AreTheSameForAnyNumberOfThreads) {
  expect_same_bits([] {
    Rows r(5000, 70, 4);
    r.round();
    const float least = r.bracket();
    std::vector<float> all = r.upper;
    all.insert(all.end(), r.bounds.begin(), r.bounds.end());
    all.push_back(least);
    return all;
  });
}

TAPE_EVERY_LEVEL(RoundedRowsTest);

}  // namespace
}  // namespace tape::kernels::testing
