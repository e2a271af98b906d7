#include "autograd/kernels/product/rounded_product.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tests/autograd/kernels/product/rounded_weight.h"

namespace tape::kernels::testing {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// A rounded weight and m rows of x.
struct Product : RoundedWeight {
  Product(int64_t m_, int64_t n, int64_t k, unsigned seed)
      : RoundedWeight(n, k, seed), m(m_), x(random_values<float>(m * k, seed + 2)) {
    round();
  }
  Flags mark(const RoundedProductKernels& kernels, bool with_bias = true) const {
    Flags may(rows.n);
    kernels.mark(rows, m, x.data(), with_bias ? bias.data() : nullptr, may.data());
    return may;
  }
  const float* row(int64_t r) const { return x.data() + r * rows.k; }

  int64_t m;
  std::vector<float> x;
};

class RoundedProductTest : public EveryLevel {};

TEST_P(RoundedProductTest, MarksWhatMayBeTheLargestOfARow) {
  for (const auto& [m, n, k] : {std::tuple<int64_t, int64_t, int64_t>{1, 1, 1},
                                {2, 7, 33},
                                {5, 64, 3},
                                {16, 301, 64},
                                {17, 1030, 100},
                                {33, 300, 1000},
                                {50, 9, 70}})
    for (const bool with_bias : {false, true}) {
      Product p(m, n, k, static_cast<unsigned>(n));
      p.weight[0] = 1e2F;  // outliers: the rest of their rows is rounded coarsely
      p.x[0] = -1e2F;
      p.round();
      const Flags may = p.mark(rounded_product(), with_bias);
      for (int64_t r = 0; r < m; ++r) {
        const auto y = [&](int64_t i) { return p.exact(p.row(r), i) + (with_bias ? p.bias[Product::at(i)] : 0); };
        double most = -kInf, most_unmarked = -kInf;
        float most_in_order = -kInf, most_unmarked_in_order = -kInf;
        for (int64_t i = 0; i < n; ++i) {
          const float in_order = p.in_order(p.row(r), i) + (with_bias ? p.bias[Product::at(i)] : 0);
          (may[i] ? most : most_unmarked) = std::max(may[i] ? most : most_unmarked, y(i));
          float& floats = may[i] ? most_in_order : most_unmarked_in_order;
          floats = std::max(floats, in_order);
        }
        EXPECT_GT(most, most_unmarked) << m << " x " << n << " x " << k << ", row " << r;
        EXPECT_GT(most_in_order, most_unmarked_in_order);
      }
    }
}

TEST_P(RoundedProductTest, AllowsForAllThatRoundingLeaves) {
  for (const Aligned& a : aligned_cases()) {
    const RoundedWeight weight = a.weight();
    const double y = weight.exact(a.x.data(), 0);
    for (const double margin : {-Aligned::kMargin, Aligned::kMargin}) {
      const std::array bias = {0.0F, static_cast<float>(y + margin)};
      Flags may(2);
      rounded_product().mark(weight.rows, 1, a.x.data(), bias.data(), may.data());
      EXPECT_TRUE(may[margin < 0 ? 0 : 1]) << a.what << ", " << margin;
    }
    const std::array far = {0.0F, static_cast<float>(y) - 200.0F};
    Flags may(2);
    rounded_product().mark(weight.rows, 1, a.x.data(), far.data(), may.data());
    EXPECT_TRUE(may[0]) << a.what;
    EXPECT_FALSE(may[1]) << a.what;
  }
}

TEST_P(RoundedProductTest, MarksFew) {
  const auto marked = [](const Product& p) {
    const Flags may = p.mark(rounded_product());
    int64_t count = 0;
    for (int64_t i = 0; i < p.rows.n; ++i) count += may[i];
    return count;
  };
  Product p(16, 2000, 512, 9);
  EXPECT_GE(marked(p), 1);
  EXPECT_LE(marked(p), 250);
  // Trained models have places whose values are far larger than the others.
  for (int64_t r = 0; r < 16; ++r) p.x[Product::at(r * 512 + 7)] = p.x[Product::at(r * 512 + 300)] = 150;
  EXPECT_GE(marked(p), 1);
  EXPECT_LE(marked(p), 250);
}

TEST_P(RoundedProductTest, MarksAllWhereNothingIsKnown) {
  for (const float value : {static_cast<float>(NAN), kInf, -kInf, 3e38F})
    for (const bool in_x : {false, true}) {
      Product p(3, 20, 40, 5);
      (in_x ? p.x : p.weight)[45] = value;
      p.round();
      const Flags may = p.mark(rounded_product());
      for (int64_t i = 0; i < 20; ++i) EXPECT_TRUE(may[i]) << value << (in_x ? " in x" : " in the weight");
    }
}

TEST_P(RoundedProductTest, MarksWordsWhoseBiasIsNoNumberOrTheLargest) {
  Product p(3, 20, 40, 6);
  p.bias[3] = NAN;
  p.bias[4] = kInf;
  p.bias[5] = -kInf;
  const Flags may = p.mark(rounded_product());
  EXPECT_TRUE(may[3]);
  EXPECT_TRUE(may[4]);
}

TEST_P(RoundedProductTest, OfZerosMarksTheLargestBiases) {
  Product p(2, 50, 40, 7);
  std::fill(p.x.begin(), p.x.end(), 0.0F);
  const Flags may = p.mark(rounded_product());
  const auto largest = std::max_element(p.bias.begin(), p.bias.end()) - p.bias.begin();
  for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(may[i], i == largest) << i;
  const Flags without = p.mark(rounded_product(), false);
  for (int64_t i = 0; i < 50; ++i) EXPECT_TRUE(without[i]) << "all products are 0";
}

/// Of a row whose values are too small for a scale nothing is kept, and little is known of its products.
TEST_P(RoundedProductTest, MarksWhatMayBeTheLargestOfNextToNothing) {
  for (const bool in_two_parts : {false, true}) {
    Product p(2, 50, 40, 7);
    for (float& w : p.weight) w *= 1e31F;
    for (int64_t j = 0; j < 40; ++j) p.x[Product::at(40 + j)] *= 1e-32F;
    if (in_two_parts) p.x[0] = 100;
    p.round();
    const Flags may = p.mark(rounded_product(), false);
    int64_t largest = 0;
    for (int64_t i = 0; i < 50; ++i)
      if (p.exact(p.row(1), i) > p.exact(p.row(1), largest)) largest = i;
    EXPECT_TRUE(may[largest]) << in_two_parts;
  }
}

/// The longest rows, whose sums of whole numbers are the largest.
TEST_P(RoundedProductTest, SumsOfWholeNumbersDoNotOverflow) {
  Product p(2, 2, kLongestRow, 8);
  for (int64_t j = 0; j < kLongestRow; ++j) {
    p.weight[Product::at(j)] = 1;
    p.weight[Product::at(kLongestRow + j)] = -1;
    p.x[Product::at(j)] = 1;
    p.x[Product::at(kLongestRow + j)] = j % 2 == 0 ? 1.0F : -1.0F;
  }
  p.round();
  p.m = 1;
  const Flags may = p.mark(rounded_product(), false);
  EXPECT_TRUE(may[0]);
  EXPECT_FALSE(may[1]);
}

/// Sums of whole numbers are exact, and so is what they decide, whatever the level and the instructions.
TEST_P(RoundedProductTest, MarksTheSameForAnyNumberOfThreads) {
  expect_same_bits([] {
    const Product p(20, 3000, 70, 4);
    const Flags may = p.mark(rounded_product());
    std::vector<char> all;
    for (int64_t i = 0; i < 3000; ++i) all.push_back(may[i]);
    return all;
  });
}

TEST(FastRoundedProduct, MarksWhatItsTwinDoes) {
  const RoundedProductKernels* const fast = fast_rounded_product();
  if (!fast) GTEST_SKIP() << "this CPU has no AVX512-VNNI";
  for (const int64_t m : {2, 16, 31, 32, 33, 64, 70})
    for (const int64_t k : {1, 63, 64, 130, 1000}) {
      Product p(m, 777, k, static_cast<unsigned>(m + k));
      if (k > 64) p.x[Product::at(k + 3)] = 300;  // in two parts
      const Flags may = p.mark(*fast), twin = p.mark(rounded_product());
      for (int64_t i = 0; i < 777; ++i) ASSERT_EQ(may[i], twin[i]) << m << " x 777 x " << k << ", word " << i;
    }
}

TEST(FastRoundedProduct, IsNoneBelowV4) {
  const Isa before = isa();
  for (const Isa level : levels()) {
    if (level == Isa::v4) continue;
    set_isa(level);
    EXPECT_EQ(fast_rounded_product(), nullptr) << to_string(level);
  }
  set_isa(before);
}

TAPE_EVERY_LEVEL(RoundedProductTest);

}  // namespace
}  // namespace tape::kernels::testing
