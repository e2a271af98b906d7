#include "autograd/kernels/product/common/bf16_backend.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include <fmt/format.h>

#include "autograd/memory.h"
#include "base/error.h"
#include "tests/autograd/kernels/levels.h"
#include "tests/autograd/kernels/product/common/bf16_configs.h"

namespace tape::kernels::testing {
namespace {

using enum MatmulPrecision;

TEST(Bf16Backend, IsAvailableIfTheCpuSupportsOne) {
#if defined(__x86_64__)
  const bool can = supported_isa() == Isa::v4 && __builtin_cpu_supports("avx512bf16");
#else
  const bool can = false;
#endif
  EXPECT_EQ(supported_bf16_backend() != Bf16Backend::none, can);
}

class Bf16Products : public ::testing::TestWithParam<Bf16Config> {};
INSTANTIATE_TEST_SUITE_P(Backends, Bf16Products, ::testing::ValuesIn(bf16_configs()), bf16_config_name);

struct Sizes {
  int64_t m, n, k;
};
// Around tile boundaries (16 rows and columns, 32 of k), pairs of tiles, and blocks of rows (256) and of k (1,024).
const std::vector<Sizes> kSizes{{1, 1, 1},     {3, 5, 7},    {16, 16, 32}, {17, 33, 31},  {32, 48, 64},
                                {40, 70, 129}, {5, 17, 700}, {4, 1050, 9}, {259, 40, 33}, {33, 16, 1100}};

struct Case {
  Gemm shape;
  std::vector<float> a, b, c, bias;  // an empty bias means none
  const float* added() const { return bias.empty() ? nullptr : bias.data(); }
};

/// Calls check(case) for every orientation of products of these sizes; `value(seed, count)` fills the operands.
template <class Values, class Check>
void for_cases(MatmulPrecision precision, const std::vector<Sizes>& sizes, const Values& values, const Check& check) {
  for (const auto& [m, n, k] : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool accumulate : {false, true})
          for (const bool bias : {false, true}) {
            const Gemm s{ta, tb, m, n, k, (ta ? m : k) + 2, (tb ? k : n) + 1, n + 3, accumulate, precision};
            SCOPED_TRACE(fmt::format("{} x {} x {}{}{}{}{}", m, n, k, ta ? ", A transposed" : "",
                                     tb ? ", B transposed" : "", accumulate ? ", added" : "", bias ? ", bias" : ""));
            check(Case{s, values((ta ? k : m) * s.lda, 1U), values((tb ? n : k) * s.ldb, 2U), values(m * s.ldc, 3U),
                       bias ? values(n, 4U) : std::vector<float>()});
          }
}

std::vector<float> ordinary(int64_t n, unsigned seed) { return random_values<float>(n, seed); }
std::vector<float> of_many_magnitudes(int64_t n, unsigned seed) {
  std::vector<float> values = random_values<float>(n, seed);
  const std::vector<int64_t> exponents = random_indices(n, seed + 1, 40);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::ldexp(values[i], static_cast<int>(exponents[i]) - 20);
  return values;
}

float to_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// Calls use(index in C, bias + sum of products, sum of their absolute values, both in double) for each element of C.
template <class Value, class Use>
void for_sums(const Case& of, const Value& value, const Use& use) {
  const Gemm& s = of.shape;
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      const auto at = static_cast<size_t>(i * s.ldc + j);
      double sum = s.accumulate ? static_cast<double>(of.c[at]) : 0.0, size = 0;
      if (of.added()) sum += static_cast<double>(of.bias[static_cast<size_t>(j)]);
      for (int64_t p = 0; p < s.k; ++p) {
        const double x = value(of.a[static_cast<size_t>(s.transpose_a ? p * s.lda + i : i * s.lda + p)]) *
                         value(of.b[static_cast<size_t>(s.transpose_b ? j * s.ldb + p : p * s.ldb + j)]);
        sum += x;
        size += std::fabs(x);
      }
      use(at, sum, size);
    }
}

std::vector<float> rounded_product(const Case& of) {
  std::vector<float> c = of.c;
  bf16_product(of.shape, of.a.data(), of.b.data(), of.added(), c.data());
  return c;
}

void expect_rounded_operands(const Bf16Config& way) {
  const BackendScope scope(way);
  for_cases(medium, kSizes, ordinary, [](const Case& one) {
    std::vector<double> wanted(one.c.begin(), one.c.end());
    for_sums(
        one, [](float x) { return static_cast<double>(to_bf16(x)); },
        [&](size_t at, double sum, double) { wanted[at] = sum; });
    expect_close(rounded_product(one), wanted, 2e-4, "product");
  });
}

/// Each element is within 2^-15 of its sum of |a_i b_i|, and all together are within 2^-16 in norm.
void expect_sixteen_bits(const Bf16Config& way) {
  const BackendScope scope(way);
  for (const auto& values : {ordinary, of_many_magnitudes}) {
    double of_missing = 0, of_sizes = 0, worst = 0;  // sums of squares; relative error of one element
    for_cases(high, kSizes, values, [&](const Case& one) {
      const std::vector<float> c = rounded_product(one);
      const auto exact = [](float x) { return static_cast<double>(x); };
      for_sums(one, exact, [&](size_t at, double sum, double size) {
        const double missing = std::fabs(exact(c[at]) - sum);
        // Rounding of f32 in each step of the sum.
        const double rounding = 0x1p-23 * (size + std::fabs(sum)) * std::sqrt(static_cast<double>(one.shape.k));
        EXPECT_LE(missing, 0x1p-15 * size + rounding) << at;
        if (size > 0) worst = std::max(worst, (missing - rounding) / size);
        of_missing += missing * missing;
        of_sizes += size * size;
      });
    });
    EXPECT_LT(std::sqrt(of_missing / of_sizes), 0x1p-16);
    EXPECT_GT(worst, 0x1p-18) << "the bound per element is too loose";
  }
}

TEST_P(Bf16Products, AreAsAccurateAsTheirPrecision) {
  GetParam().precision == medium ? expect_rounded_operands(GetParam()) : expect_sixteen_bits(GetParam());
}

TEST_P(Bf16Products, SumsOfTheLeftOperandAreExact) {
  const BackendScope scope(GetParam());
  for_cases(GetParam().precision, {{270, 20, 1060}, {17, 40, 33}}, ordinary, [](const Case& one) {
    if (!one.shape.transpose_a) return;
    std::vector<double> wanted(static_cast<size_t>(one.shape.m));
    for (int64_t i = 0; i < one.shape.k; ++i)
      for (size_t row = 0; row < wanted.size(); ++row)
        wanted[row] += static_cast<double>(one.a[static_cast<size_t>(i * one.shape.lda) + row]);
    std::vector<float> sums(wanted.size(), std::nanf("")), c = one.c;
    Gemm with = one.shape;
    with.row_sums_a = sums.data();
    bf16_product(with, one.a.data(), one.b.data(), one.added(), c.data());
    EXPECT_EQ(c, rounded_product(one)) << "the product changed";
    expect_close(sums, wanted, 4e-5, "sums");
  });
}

TEST_P(Bf16Products, APrepackedRightOperandGivesTheSameBits) {
  if (isa() < Isa::v3) GTEST_SKIP() << "this CPU level does not pack operands";
  const BackendScope scope(GetParam());
  if (precision_in_use(GetParam().precision) == MatmulPrecision::highest) return;
  for_cases(GetParam().precision, {{50, 60, 620}, {34, 36, 1060}}, ordinary, [](const Case& one) {
    if (one.shape.transpose_a) return;
    const RightPacking way = right_packing(one.shape, sizeof(float));
    const Ref<Storage> packed = Storage::allocate(way.bytes);
    pack_right(one.shape, one.b.data(), packed->data());
    Gemm with = one.shape;
    with.packed = {.values = packed->data(), .kernels = way.kernels, .columns = with.n};
    const auto product = [&](const Gemm& shape) {
      std::vector<float> c = one.c;
      gemm(shape, one.a.data(), one.b.data(), c.data(), one.added());
      return c;
    };
    expect_same_bits([&] { return product(with); });
    EXPECT_EQ(product(with), product(one.shape));
  });
}

TEST_P(Bf16Products, BitsDoNotDependOnThreadsOrOtherRowsAndColumns) {
  const BackendScope scope(GetParam());
  for_cases(GetParam().precision, {{50, 60, 620}, {290, 34, 68}}, ordinary, [](const Case& one) {
    if (one.shape.accumulate == one.bias.empty()) return;  // half of the cases are enough
    const auto product = [&](const Gemm& shape) {
      std::vector<float> c = one.c;
      gemm(shape, one.a.data(), one.b.data(), c.data(), one.added());
      return c;
    };
    expect_same_bits([&] { return product(one.shape); });
    const std::vector<float> whole = product(one.shape);
    Gemm part = one.shape;
    part.m -= 23;
    part.n -= 7;
    const std::vector<float> some = product(part);
    for (int64_t i = 0; i < part.m; ++i) {
      const auto row = static_cast<size_t>(i * part.ldc), columns = static_cast<size_t>(part.n);
      ASSERT_EQ(std::memcmp(&whole[row], &some[row], columns * sizeof(float)), 0) << "row " << i;
    }
  });
}

/// Whether gemm() rounds operands of this shape, [m, k] times a transposed [n, k], to bf16.
bool rounds(MatmulPrecision precision, int64_t m, int64_t n, int64_t k) {
  const Gemm s{.transpose_b = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n, .precision = precision};
  Gemm exact = s;
  exact.precision = highest;
  const std::vector<float> a = ordinary(m * k, 1), b = ordinary(n * k, 2);
  std::vector<float> c(static_cast<size_t>(m * n)), wanted = c;
  gemm(s, a.data(), b.data(), c.data());
  gemm(exact, a.data(), b.data(), wanted.data());
  return c != wanted;
}

TEST_P(Bf16Products, AreExactIfRoundingIsSlower) {
  const BackendScope scope(GetParam());
  const MatmulPrecision precision = GetParam().precision;
  const bool always = GetParam().backend == Bf16Backend::avx512;
  EXPECT_EQ(rounds(precision, 8, 300, 300), always);
  EXPECT_TRUE(rounds(precision, 9, 300, 300));
  EXPECT_EQ(rounds(precision, 4, 64, 100), always);
  EXPECT_TRUE(rounds(precision, 5, 64, 100));
  EXPECT_EQ(rounds(precision, 25, 25, 26), always);
  EXPECT_TRUE(rounds(precision, 26, 26, 26));
}

/// Bit patterns from zero to infinity inclusive: products that underflow, overflow or are NaN.
std::vector<float> any_bits(int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(static_cast<size_t>(n));
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>(engine());
    std::memcpy(&value, &bits, sizeof(value));
  }
  return values;
}
/// Exponents for which products and their sums are near the smallest normal value.
std::vector<float> tiny(int64_t n, unsigned seed) {
  std::vector<float> values = random_values<float>(n, seed);
  for (float& value : values) value = std::ldexp(value, -64);
  return values;
}

TEST(TileProduct, EmulationGivesTheSameBitsAsTheCpu) {
  if (supported_bf16_backend() != Bf16Backend::tiles) GTEST_SKIP() << "this CPU has no tiles";
  const BackendScope scope(Bf16Backend::tiles);
  for (const MatmulPrecision precision : {medium, high})
    for (const auto& values : {ordinary, any_bits, tiny, of_many_magnitudes})
      for_cases(precision, kSizes, values, [&](const Case& one) {
        const std::vector<float> c = rounded_product(one);
        std::vector<float> emulated = one.c;
        emulated_tiles().product(one.shape, parts_of(precision), one.a.data(), one.b.data(), one.added(),
                                 emulated.data());
        for (size_t i = 0; i < c.size(); ++i) {
          if (std::isnan(c[i]) && std::isnan(emulated[i])) continue;
          ASSERT_EQ(std::memcmp(&c[i], &emulated[i], sizeof(float)), 0) << i << ": " << c[i] << ", " << emulated[i];
        }
      });
}

TEST(TileProduct, SumsPairsSeparatelyAndFlushesDenormals) {
  const auto product = [](std::vector<float> a, const std::vector<float>& b, float c) {
    const auto k = static_cast<int64_t>(a.size());
    const Gemm s{.transpose_b = true, .m = 1, .n = 1, .k = k, .lda = k, .ldb = k, .ldc = 1, .accumulate = true};
    emulated_tiles().product(s, 1, a.data(), b.data(), nullptr, &c);
    return c;
  };
  // 2^24 + 1 - 2^24: the 1 is lost if added to 2^24, and survives in the other partial sum of a pair.
  const float large = 0x1p24F;
  EXPECT_EQ(product({large, 0, 1, 0, -large}, {1, 1, 1, 1, 1}, 0), 0);
  EXPECT_EQ(product({large, 1, 0, 0, -large}, {1, 1, 1, 1, 1}, 0), 1);
  // C comes last: it is added to the sum of 32 products.
  EXPECT_EQ(product({1, 0, 1}, {1, 1, 1}, large), large + 2);
  constexpr float kSmallest = std::numeric_limits<float>::min();
  EXPECT_EQ(product({kSmallest}, {1}, 0), kSmallest);
  EXPECT_EQ(product({kSmallest}, {0.5F}, 0), 0);
  EXPECT_EQ(product({kSmallest / 2}, {4}, 0), 0);
  EXPECT_EQ(product({0}, {1}, kSmallest / 2), 0);
}

TEST(Bf16Backend, FallsBackWithTheCpuLevel) {
  if (supported_bf16_backend() == Bf16Backend::none) GTEST_SKIP() << "this CPU cannot multiply bf16";
  const BackendScope scope(supported_bf16_backend());
  const Isa before = isa();
  set_isa(Isa::v4);
  EXPECT_EQ(bf16_backend(), supported_bf16_backend());
  for (const Isa level : {Isa::v2, Isa::v3}) {
    if (!has_level(level)) continue;
    set_isa(level);
    EXPECT_EQ(bf16_backend(), Bf16Backend::none);
  }
  set_isa(before);
}

void expect_exact(MatmulPrecision precision) {
  for_cases(precision, {{20, 30, 40}}, ordinary, [](const Case& one) {
    Gemm exact = one.shape;
    exact.precision = highest;
    std::vector<float> c = one.c, wanted = one.c;
    gemm(one.shape, one.a.data(), one.b.data(), c.data(), one.added());
    gemm(exact, one.a.data(), one.b.data(), wanted.data(), one.added());
    EXPECT_EQ(c, wanted);
  });
}

TEST(Bf16Backend, ProductsAreExactWithoutABackend) {
  const BackendScope scope(Bf16Backend::none);
  for (const MatmulPrecision precision : {medium, high}) {
    EXPECT_EQ(precision_in_use(precision), highest);
    EXPECT_EQ(products_in_use(precision), "f32");
    expect_exact(precision);
  }
}

TEST(Bf16Backend, Avx512LeavesHighPrecisionToF32) {
  if (supported_bf16_backend() < Bf16Backend::avx512) GTEST_SKIP() << "this CPU cannot multiply bf16";
  const BackendScope scope(Bf16Backend::avx512);
  EXPECT_EQ(precision_in_use(high), highest);
  expect_exact(high);
  EXPECT_EQ(products_in_use(medium), "bf16 on AVX512-BF16");
}

TEST(Bf16Backend, TilesOfferEveryRequestedPrecision) {
  const EmulatedTiles scope;
  for (const MatmulPrecision precision : {highest, high, medium}) EXPECT_EQ(precision_in_use(precision), precision);
  EXPECT_EQ(products_in_use(highest), "f32");
  EXPECT_EQ(products_in_use(high), "two bf16 per value on AMX tiles");
  EXPECT_EQ(products_in_use(medium), "bf16 on AMX tiles");
}

TEST(Bf16Backend, RefusesBackendsTheCpuDoesNotSupport) {
  if (supported_bf16_backend() == Bf16Backend::tiles) GTEST_SKIP() << "this CPU supports every backend";
  EXPECT_THROW(set_bf16_backend(Bf16Backend::tiles), Error);
}

TEST(Bf16Backend, HasAName) {
  EXPECT_EQ(to_string(Bf16Backend::none), "none");
  EXPECT_EQ(to_string(Bf16Backend::avx512), "AVX512-BF16");
  EXPECT_EQ(to_string(Bf16Backend::tiles), "AMX tiles");
}

}  // namespace
}  // namespace tape::kernels::testing
