#include "autograd/kernels/gemm.h"

#include "support.h"

namespace tape::kernels::testing {
namespace {

template <class T>
std::vector<long double> reference(const Gemm& s, const std::vector<T>& a, const std::vector<T>& b,
                                   const std::vector<T>& c) {
  std::vector<long double> out(c.begin(), c.end());
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      long double sum = 0;
      for (int64_t p = 0; p < s.k; ++p)
        sum += static_cast<long double>(a[static_cast<size_t>(s.transpose_a ? p * s.lda + i : i * s.lda + p)]) *
               static_cast<long double>(b[static_cast<size_t>(s.transpose_b ? j * s.ldb + p : p * s.ldb + j)]);
      long double& to = out[static_cast<size_t>(i * s.ldc + j)];
      to = static_cast<long double>(s.alpha) * sum + (s.beta == 0 ? 0 : static_cast<long double>(s.beta) * to);
    }
  return out;
}

template <class T>
void check_gemm() {
  const int64_t sizes[][3] = {{1, 1, 1},     {3, 5, 7}, {16, 1, 33}, {1, 40, 9},
                              {65, 70, 130}, {4, 6, 0}, {0, 5, 3},   {5, 0, 3}};
  for (const auto& size : sizes)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const double beta : {0.0, 1.0, 0.5}) {
          const int64_t m = size[0], n = size[1], k = size[2];
          const Gemm s{ta, tb, m, n, k, (ta ? m : k) + 2, (tb ? k : n) + 1, n + 3, 1.5, beta};
          const std::vector<T> a = random_values<T>((ta ? k : m) * s.lda + 1, 1),
                               b = random_values<T>((tb ? n : k) * s.ldb + 1, 2);
          std::vector<T> c = random_values<T>(m * s.ldc + 1, 3);
          const std::vector<long double> wanted = reference(s, a, b, c);
          gemm(s, a.data(), b.data(), c.data());
          expect_close(c, wanted, tolerance<T>(2e-5, 1e-13),
                       std::to_string(m) + " x " + std::to_string(n) + " x " + std::to_string(k));
        }
}
TEST(Gemm, products) {
  check_gemm<float>();
  check_gemm<double>();
}

TEST(Gemm, beta_zero_overwrites_nan) {
  const Gemm empty{false, false, 2, 2, 0, 1, 2, 2, 1, 0};
  std::vector<float> c(4, std::nanf("")), x(4, 1);
  gemm(empty, x.data(), x.data(), c.data());
  EXPECT_EQ(c, std::vector<float>(4, 0));
}

template <class T>
void check_batched() {
  for (const int64_t edge : {4, 40, 200}) {
    const Gemm s{false, true, edge, edge, edge, edge, edge, edge, 1, 0};
    const int64_t each = edge * edge;
    const std::vector<T> a = random_values<T>(3 * each, 4), b = random_values<T>(each, 5);
    // Broadcast operands, in an order of their own.
    const int64_t at_a[] = {2 * each, 0, each, each, 0}, at_b[] = {0, 0, 0, 0, 0},
                  at_c[] = {4 * each, 0, each, 3 * each, 2 * each};
    std::vector<T> c(static_cast<size_t>(5 * each)), wanted(c.size());
    gemm_batched(s, 5, a.data(), at_a, b.data(), at_b, c.data(), at_c);
    for (int i = 0; i < 5; ++i) gemm(s, a.data() + at_a[i], b.data() + at_b[i], wanted.data() + at_c[i]);
    expect_close(c, wanted, tolerance<T>(1e-5, 1e-13), "batched " + std::to_string(edge));
  }
  gemm_batched(Gemm{}, 0, static_cast<const T*>(nullptr), nullptr, nullptr, nullptr, static_cast<T*>(nullptr), nullptr);
}
TEST(Gemm, batches_with_repeated_operands) {
  check_batched<float>();
  check_batched<double>();
}

TEST(Gemm, threads_are_set_in_one_place) {
  const int before = num_threads();
  set_num_threads(1);
  EXPECT_EQ(num_threads(), 1);
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
  set_num_threads(before);
  EXPECT_EQ(num_threads(), before);
}

TEST(Gemm, names_its_blas_and_cpu) {
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
