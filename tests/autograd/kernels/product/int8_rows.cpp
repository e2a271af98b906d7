#include "autograd/kernels/product/int8_rows.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tests/autograd/kernels/product/int8_weight.h"

namespace tape::kernels::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// A quantized weight, one x, and bounds on its products.
struct Rows : Int8Weight {
  Rows(int64_t n, int64_t k, unsigned seed)
      : Int8Weight(n, k, seed), x(random_values<float>(k, seed + 2)), upper(static_cast<size_t>(n)) {}
  /// Lower bound of the `top` largest products.
  float bound(bool with_bias = true, int64_t top = 1) {
    std::vector<float> lower(static_cast<size_t>(rows.groups()));
    int8_rows().bound(rows, x.data(), with_bias ? bias.data() : nullptr, upper.data(), lower.data());
    std::sort(lower.rbegin(), lower.rend());
    return lower[at(top - 1)];
  }
  double exact(int64_t i) const { return Int8Weight::exact(x.data(), i); }
  float in_order(int64_t i) const { return Int8Weight::in_order(x.data(), i); }

  std::vector<float> x, upper;
};

class Int8RowsTest : public EveryLevel {};

TEST_P(Int8RowsTest, RoundToTheNearestOf255Values) {
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

TEST_P(Int8RowsTest, BoundEveryProduct) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{1, 1}, {7, 33}, {1030, 64}, {300, 1000}})
    for (const bool with_bias : {false, true}) {
      Rows r(n, k, static_cast<unsigned>(n));
      r.weight[0] = 1e3F;  // an outlier: the rest of its row is quantized coarsely
      r.round();
      const float least = r.bound(with_bias);
      double most = -kInf;
      for (int64_t i = 0; i < n; ++i) {
        const float bias = with_bias ? r.bias[Rows::at(i)] : 0;
        const double y = r.exact(i) + bias;
        EXPECT_GE(r.upper[Rows::at(i)], y);
        EXPECT_GE(r.upper[Rows::at(i)], r.in_order(i) + bias);
        most = std::max({most, y});
      }
      EXPECT_LE(least, most);
      EXPECT_GE(least, most - 60) << "the bound is too loose";
    }
}

TEST_P(Int8RowsTest, BoundUpToOneLargestProductPerGroup) {
  Rows r(1000, 512, 5);
  r.round();
  ASSERT_EQ(r.rows.groups(), 16);
  std::vector<double> sorted;
  std::vector<float> in_order;
  for (int64_t i = 0; i < 1000; ++i) {
    sorted.push_back(r.exact(i));
    in_order.push_back(r.in_order(i));
  }
  std::sort(sorted.rbegin(), sorted.rend());
  std::sort(in_order.rbegin(), in_order.rend());
  float before = kInf;
  for (int64_t top = 1; top <= 16; ++top) {
    const float least = r.bound(false, top);
    EXPECT_LE(least, sorted[Rows::at(top - 1)]) << top;
    EXPECT_LE(least, in_order[Rows::at(top - 1)]) << top;
    EXPECT_LE(least, before);
    before = least;
    const auto candidates = std::count_if(r.upper.begin(), r.upper.end(), [&](float upper) { return upper >= least; });
    EXPECT_GE(candidates, top);
    EXPECT_LE(candidates, top <= 8 ? 30 * top : 1000)
        << "expected few candidates unless top reaches the number of groups";
  }
}

TEST_P(Int8RowsTest, AccountForAllRoundingErrors) {
  for (const WorstCase& a : worst_cases()) {
    const Int8Weight weight = a.weight();
    std::array<float, 2> upper;
    float lower;
    int8_rows().bound(weight.rows, a.x.data(), nullptr, upper.data(), &lower);
    const double y = weight.exact(a.x.data(), 0);
    EXPECT_GE(upper[0], y) << a.what;
    EXPECT_LE(lower, y) << a.what;
  }
}

TEST_P(Int8RowsTest, BoundProductsTightly) {
  Rows r(1000, 512, 9);
  r.round();
  for (const float outlier : {0.0F, 150.0F}) {  // as in trained models
    r.x[7] += outlier;
    r.x[300] -= outlier;
    const float least = r.bound(false);
    const auto candidates = std::count_if(r.upper.begin(), r.upper.end(), [&](float upper) { return upper >= least; });
    EXPECT_GE(candidates, 1);
    EXPECT_LE(candidates, 30);
  }
}

TEST_P(Int8RowsTest, KeepRowsOfNaNInfinityAndTinyValuesAsCandidates) {
  Rows r(6, 20, 5);
  for (int64_t j = 0; j < 20; ++j) r.weight[Rows::at(j)] = 0;            // all zeros
  for (int64_t j = 0; j < 20; ++j) r.weight[Rows::at(20 + j)] = 1e-40F;  // below the smallest scale
  r.weight[Rows::at(2 * 20 + 3)] = NAN;
  r.weight[Rows::at(3 * 20 + 4)] = -kInf;
  for (int64_t j = 0; j < 20; ++j) r.weight[Rows::at(4 * 20 + j)] = 3e38F;
  r.round();
  const float least = r.bound(false);
  EXPECT_TRUE(std::isfinite(least) || least == -kInf);
  EXPECT_EQ(r.scale[0], 0);
  EXPECT_GE(r.upper[0], 0);
  EXPECT_GE(r.upper[1], r.exact(1));
  for (const size_t i : {2U, 3U}) {
    EXPECT_EQ(r.rests[i], kInf);
    EXPECT_FALSE(r.upper[i] < least) << i;
  }
}

TEST_P(Int8RowsTest, StoreTheirNorms) {
  Rows r(40, 90, 7);
  for (int64_t j = 0; j < 90; ++j) r.weight[Rows::at(j)] *= 1e-33F;
  r.round();
  for (int64_t i = 0; i < 40; ++i) {
    double rounded = 0, exact = 0;
    for (int64_t j = 0; j < 90; ++j) {
      const double w = r.weight[Rows::at(i * 90 + j)],
                   q = static_cast<double>(r.scale[Rows::at(i)]) * r.values[Rows::at(i * r.rows.stride() + j)];
      rounded += q * q;
      exact += w * w;
    }
    EXPECT_GE(r.norms[Rows::at(i)], std::sqrt(std::max(rounded, exact)));
    EXPECT_LE(r.norms[Rows::at(i)], i == 0 ? 1e-28 : std::sqrt(exact) * 1.02);
  }
}

/// Float sums may overflow in intermediate steps even if the product does not.
TEST_P(Int8RowsTest, GiveNoBoundIfProductsMayOverflow) {
  Rows r(3, 64, 8);
  for (int64_t j = 0; j < 64; ++j) r.weight[Rows::at(64 + j)] = j % 2 == 0 ? 1e38F : -1e38F;
  r.round();
  EXPECT_EQ(r.bound(), -kInf);
  EXPECT_EQ(r.upper, std::vector<float>(3, kInf));
}

TEST_P(Int8RowsTest, AreBitwiseEqualForAnyThreadCount) {
  expect_same_bits([] {
    Rows r(5000, 70, 4);
    r.round();
    const float least = r.bound();
    std::vector<float> all = r.upper;
    all.insert(all.end(), r.rests.begin(), r.rests.end());
    all.push_back(least);
    return all;
  });
}

TAPE_EVERY_LEVEL(Int8RowsTest);

}  // namespace
}  // namespace tape::kernels::testing
