#include "autograd/kernels/product/common/gemm.h"

#include "autograd/kernels/product/common/blas.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/memory.h"

#include <fmt/format.h>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

template <class T>
std::vector<long double> reference(const Gemm& s, const std::vector<T>& a, const std::vector<T>& b, const T* bias,
                                   const std::vector<T>& c) {
  std::vector<long double> out(c.begin(), c.end());
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      long double sum = bias ? static_cast<long double>(bias[j]) : 0;
      for (int64_t p = 0; p < s.k; ++p)
        sum += static_cast<long double>(a[static_cast<size_t>(s.transpose_a ? p * s.lda + i : i * s.lda + p)]) *
               static_cast<long double>(b[static_cast<size_t>(s.transpose_b ? j * s.ldb + p : p * s.ldb + j)]);
      long double& to = out[static_cast<size_t>(i * s.ldc + j)];
      to = sum + (s.accumulate ? to : 0);
    }
  return out;
}

struct Sizes {
  int64_t m, n, k;
};

/// Calls check(shape, a, b, c) for every orientation of products of these sizes.
template <class T, class Check>
void for_orientations(const std::vector<Sizes>& all, const Check& check) {
  for (const Sizes& size : all)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const bool accumulate : {false, true}) {
          const auto& [m, n, k] = size;
          const Gemm s{ta, tb, m, n, k, (ta ? m : k) + 2, (tb ? k : n) + 1, n + 3, accumulate};
          SCOPED_TRACE(fmt::format("{} x {} x {}{}{}{}", m, n, k, ta ? ", A transposed" : "",
                                   tb ? ", B transposed" : "", accumulate ? ", added" : ""));
          check(s, random_values<T>((ta ? k : m) * s.lda + 1, 1), random_values<T>((tb ? n : k) * s.ldb + 1, 2),
                random_values<T>(m * s.ldc + 1, 3));
        }
}

// Around tile boundaries of every level, and blocks of rows (192), columns (2,048) and k (768 floats, 384 doubles).
const std::vector<Sizes> kSmall{{1, 1, 1},   {3, 5, 7},    {16, 1, 33},  {1, 40, 9}, {65, 70, 130},
                                {4, 6, 0},   {0, 5, 3},    {5, 0, 3},    {5, 17, 2}, {12, 32, 4},
                                {13, 33, 5}, {20, 15, 16}, {11, 48, 20}, {9, 31, 1}};
const std::vector<Sizes> kBlocks{{2, 9, 100},   {3, 6, 64},    {4, 13, 35},   {193, 50, 30},
                                 {8, 2049, 10}, {14, 34, 769}, {30, 65, 1600}};

template <class T>
void check_gemm() {
  for (const auto* sizes : {&kSmall, &kBlocks})
    for_orientations<T>(*sizes, [](const Gemm& s, const auto& a, const auto& b, std::vector<T> c) {
      const std::vector<T> bias = random_values<T>(s.n + 1, 4);
      for (const T* added : {static_cast<const T*>(nullptr), bias.data()}) {
        std::vector<T> mine = c;
        gemm(s, a.data(), b.data(), mine.data(), added);
        expect_close(mine, reference(s, a, b, added, c), tolerance<T>(2e-4, 1e-12), "product");
      }
    });
}
class GemmAtLevel : public EveryLevel {};
TAPE_EVERY_LEVEL(GemmAtLevel);

TEST_P(GemmAtLevel, ProductsMatchALoop) {
  check_gemm<float>();
  check_gemm<double>();
}

template <class T>
void check_packed() {
  for_orientations<T>(kBlocks, [](Gemm s, const auto& a, const auto& b, const std::vector<T>& c) {
    if (s.transpose_a) return;
    const RightPacking way = right_packing(s, sizeof(T));
    ASSERT_EQ(way.kernels, isa() < Isa::v3 ? RightPacking::Kernels::none : RightPacking::Kernels::blocked);
    if (way.kernels == RightPacking::Kernels::none) return;
    const Ref<Storage> packed = Storage::allocate(way.bytes);
    pack_right(s, b.data(), packed->data());
    const std::vector<T> bias = random_values<T>(s.n, 4);
    s.packed = {.values = packed->data(), .kernels = way.kernels, .columns = s.n};
    const std::vector<T> nothing(b.size());  // B itself is not read
    const auto product = [&] {
      std::vector<T> mine = c;
      gemm(s, a.data(), nothing.data(), mine.data(), bias.data());
      return mine;
    };
    expect_same_bits(product);
    expect_close(product(), reference(s, a, b, bias.data(), c), tolerance<T>(2e-4, 1e-12), "product");
  });
}
TEST_P(GemmAtLevel, ProductsWithAPackedRightOperandMatchALoop) {
  check_packed<float>();
  check_packed<double>();
}

TEST_P(GemmAtLevel, APrepackedRightOperandGivesTheSameBits) {
  if (GetParam() < Isa::v3) return;  // this level does not pack operands
  Gemm s{.transpose_b = true, .m = 130, .n = 2100, .k = 900, .lda = 900, .ldb = 900, .ldc = 2100};
  const auto a = random_values<float>(s.m * s.k, 1), b = random_values<float>(s.n * s.k, 2);
  std::vector<float> read(static_cast<size_t>(s.m * s.n)), whole(read.size());
  gemm(s, a.data(), b.data(), read.data());
  const RightPacking way = right_packing(s, sizeof(float));
  const Ref<Storage> packed = Storage::allocate(way.bytes);
  pack_right(s, b.data(), packed->data());
  s.packed = {.values = packed->data(), .kernels = way.kernels, .columns = s.n};
  gemm(s, a.data(), b.data(), whole.data());
  EXPECT_EQ(read, whole);
}

template <class T>
void check_against_blas() {
  for_orientations<T>({{150, 200, 900}}, [](const Gemm& s, const auto& a, const auto& b, std::vector<T> c) {
    std::vector<T> theirs = c;
    gemm(s, a.data(), b.data(), c.data());
    blas_gemm(s, a.data(), b.data(), theirs.data());
    expect_close(c, std::vector<long double>(theirs.begin(), theirs.end()), tolerance<T>(2e-4, 1e-12), "OpenBLAS");
  });
}
TEST_P(GemmAtLevel, AgreesWithOpenBlas) {
  check_against_blas<float>();
  check_against_blas<double>();
}

/// A product has the same bits on any number of threads and, with our own kernels, so do its rows within smaller and
/// larger products.
template <class T>
void check_bits() {
  for_orientations<T>({{180, 150, 800}, {13, 40, 30}, {80, 300, 300}},
                      [](const Gemm& s, const auto& a, const auto& b, std::vector<T> c) {
                        std::vector<T> part = c;
                        expect_same_bits([&] {
                          std::vector<T> whole = c;
                          gemm(s, a.data(), b.data(), whole.data());
                          return whole;
                        });
                        if (isa() < Isa::v3) return;
                        gemm(s, a.data(), b.data(), c.data());
                        Gemm rows = s;
                        rows.m = std::min<int64_t>(s.m, 77);
                        gemm(rows, a.data(), b.data(), part.data());
                        part.resize(static_cast<size_t>((rows.m - 1) * s.ldc + s.n));
                        c.resize(part.size());
                        EXPECT_EQ(part, c);
                      });
}
TEST_P(GemmAtLevel, BitsDoNotDependOnThreadsOrOtherRows) {
  check_bits<float>();
  check_bits<double>();
}

template <class T>
void check_left_sums() {
  for_orientations<T>({{300, 150, 1700}, {13, 40, 30}, {3, 2, 9}, {5, 0, 3}, {5, 3, 0}},
                      [](Gemm s, const auto& a, const auto& b, const std::vector<T>& c) {
                        if (!s.transpose_a) return;
                        std::vector<long double> wanted(static_cast<size_t>(s.m));
                        for (int64_t i = 0; i < s.k; ++i)
                          for (size_t row = 0; row < wanted.size(); ++row)
                            wanted[row] += static_cast<long double>(a[static_cast<size_t>(i * s.lda) + row]);
                        std::vector<T> without = c;
                        gemm(s, a.data(), b.data(), without.data());
                        const auto sums = [&] {
                          std::vector<T> found(wanted.size(), std::numeric_limits<T>::quiet_NaN()), with = c;
                          s.row_sums_a = found.data();
                          gemm(s, a.data(), b.data(), with.data());
                          EXPECT_EQ(with, without) << "the product changed";
                          return found;
                        };
                        expect_close(sums(), wanted, tolerance<T>(4e-5, 1e-13), "sums");
                        if (isa() >= Isa::v3) expect_same_bits(sums);
                      });
}
TEST_P(GemmAtLevel, SumsOfTheLeftOperandMatchALoop) {
  check_left_sums<float>();
  check_left_sums<double>();
}

TEST(Gemm, AnEmptyProductOverwritesNaN) {
  const Gemm empty{false, false, 2, 2, 0, 1, 2, 2};
  std::vector<float> c(4, std::nanf("")), x(4, 1);
  gemm(empty, x.data(), x.data(), c.data());
  EXPECT_EQ(c, std::vector<float>(4, 0));
}

template <class T>
void check_batched() {
  for (const int64_t edge : {4, 40, 200}) {
    const Gemm s{false, true, edge, edge, edge, edge, edge, edge};
    const int64_t each = edge * edge;
    const std::vector<T> a = random_values<T>(3 * each, 4), b = random_values<T>(each, 5);
    // Repeated operands, and results in permuted order.
    const Broadcast batch{.rank = 2, .sizes = {2, 3}, .strides = {{0, each}, {}, {each, 2 * each}}};
    std::vector<T> c(static_cast<size_t>(6 * each)), wanted(c.size());
    products<T>().gemm_batched(s, batch, a.data(), b.data(), c.data());
    for (int64_t i = 0; i < 2; ++i)
      for (int64_t j = 0; j < 3; ++j) gemm(s, a.data() + j * each, b.data(), wanted.data() + (i + 2 * j) * each);
    expect_close(c, wanted, tolerance<T>(1e-5, 1e-13), "batched " + std::to_string(edge));
  }
  products<T>().gemm_batched(Gemm{}, {.rank = 1, .sizes = {0}}, nullptr, nullptr, nullptr);
}
TEST(Gemm, BatchesMayRepeatOperands) {
  check_batched<float>();
  check_batched<double>();
}

TEST(Gemm, ReportsItsBlasAndCpu) {
  const BlasInfo info = blas_info();
  EXPECT_EQ(info.version.rfind("OpenBLAS ", 0), 0U) << info.version;
  EXPECT_EQ(info.version.find(' ', 9), std::string::npos) << info.version;
  EXPECT_FALSE(info.core.empty());
  EXPECT_TRUE(info.threading == "openmp" || info.threading == "pthread" || info.threading == "sequential")
      << info.threading;
  EXPECT_FALSE(cpu_name().empty());
}

}  // namespace
}  // namespace tape::kernels::testing
