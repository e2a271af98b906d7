// Triangular solutions, Cholesky and LU factors of all sizes against LAPACK's, at every level and on several threads.

#include <algorithm>

#include "autograd/ops/linalg/triangles.h"

#include <fmt/format.h>

#include "autograd/kernels/product/common/blas.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::linalg {
namespace {

using kernels::Triangle;
using kernels::testing::random_values;

class Triangles : public kernels::testing::EveryLevel {};

template <class T>
constexpr double kClose = sizeof(T) == sizeof(float) ? 1e-5 : 1e-13;

template <class F>
F* lapack(const char* single, const char* twice, bool is_single) {
  return reinterpret_cast<F*>(kernels::blas_function(is_single ? single : twice));
}

/// LAPACK's trtrs on a column-major copy of the right sides; a as LAPACK reads it.
template <class T>
std::vector<T> lapack_solution(const Triangle<T>& a, int64_t columns, const std::vector<T>& b) {
  using Solve = void(const char*, const char*, const char*, const int*, const int*, const T*, const int*, T*,
                     const int*, int*, size_t, size_t, size_t);
  const int n = static_cast<int>(a.n), k = static_cast<int>(columns);
  std::vector<T> x(b.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < k; ++c) x[static_cast<size_t>(c * n + i)] = b[static_cast<size_t>(i * k + c)];
  // Row-major is the transpose: the other triangle.
  const bool rows = a.column_step == 1;
  int info = 0;
  const kernels::OneBlasThread alone;
  lapack<Solve>("strtrs_", "dtrtrs_", sizeof(T) == sizeof(float))(a.upper != rows ? "U" : "L", rows ? "T" : "N",
                                                                  a.unit ? "U" : "N", &n, &k, a.values, &n, x.data(),
                                                                  &n, &info, 1, 1, 1);
  EXPECT_EQ(info, 0);
  std::vector<T> y(b.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t c = 0; c < k; ++c) y[static_cast<size_t>(i * k + c)] = x[static_cast<size_t>(c * n + i)];
  return y;
}

template <class T>
void expect_near(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
  double largest = 0, off = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(wanted[i])));
    off = std::max(off, static_cast<double>(std::abs(got[i] - wanted[i])));
  }
  EXPECT_LE(off, kClose<T> * largest) << what;
}

/// NaN where nothing may be read.
template <class T>
std::vector<T> triangular_values(int64_t n, bool rows, bool upper, bool unit) {
  std::vector<T> a = random_values<T>(n * n, 7, -0.5, 0.5);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& value = a[static_cast<size_t>(rows ? i * n + j : j * n + i)];
      if (i == j)
        value = unit ? std::nanf("") : T(2) + static_cast<T>(i % 3);
      else if ((j > i) != upper)
        value = std::nanf("");
      else
        value /= static_cast<T>(n);
    }
  return a;
}

template <class T>
void check_solutions() {
  for (const int64_t n : {1, 4, 31, 33, 64, 200})
    for (const int64_t columns : {1, 5, 16, 83, 300})
      for (int kind = 0; kind < 8; ++kind) {
        const bool rows = (kind & 1) != 0, upper = (kind & 2) != 0, unit = (kind & 4) != 0;
        const std::vector<T> a = triangular_values<T>(n, rows, upper, unit), b = random_values<T>(n * columns, 3);
        const Triangle<T> triangle{a.data(), n, rows ? n : 1, rows ? 1 : n, upper, unit};
        std::vector<T> x = b, again = b;
        kernels::set_num_threads(1);
        solve_triangle(triangle, columns, x.data(), columns);
        expect_near(x, lapack_solution(triangle, columns, b),
                    fmt::format("{} x {}, rows {}, upper {}, unit {}", n, columns, rows, upper, unit));
        kernels::set_num_threads(3);
        solve_triangle(triangle, columns, again.data(), columns);
        EXPECT_EQ(x, again) << "bits depend on the threads";
      }
}

TEST_P(Triangles, AreSolvedAsByLapack) {
  check_solutions<float>();
  check_solutions<double>();
}

/// (random, symmetric) / n + I.
template <class T>
std::vector<T> positive_definite(int64_t n) {
  std::vector<T> a = random_values<T>(n * n, 5, -0.4, 0.4);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      T& value = a[static_cast<size_t>(i * n + j)];
      value = i == j ? T(1) + value / 2 : value / static_cast<T>(n);
      a[static_cast<size_t>(j * n + i)] = value;
    }
  return a;
}

template <class T>
std::vector<T> upper_part(int64_t n, std::vector<T> a) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) a[static_cast<size_t>(i * n + j)] = 0;
  return a;
}

template <class T>
void check_cholesky() {
  using Factor = void(const char*, const int*, T*, const int*, int*, size_t);
  for (const int64_t n : {1, 4, 17, 32, 33, 96, 300}) {
    const std::vector<T> a = positive_definite<T>(n);
    std::vector<T> u = a, again = a, wanted = a;
    kernels::set_num_threads(1);
    EXPECT_EQ(factor_cholesky(n, u.data()), 0);
    const int size = static_cast<int>(n);
    int info = 0;
    {
      const kernels::OneBlasThread alone;
      lapack<Factor>("spotrf_", "dpotrf_", sizeof(T) == sizeof(float))("L", &size, wanted.data(), &size, &info, 1);
    }
    EXPECT_EQ(info, 0);
    expect_near(upper_part(n, u), upper_part(n, wanted), fmt::format("cholesky of {}", n));
    kernels::set_num_threads(3);
    EXPECT_EQ(factor_cholesky(n, again.data()), 0);
    EXPECT_EQ(upper_part(n, u), upper_part(n, again)) << "bits depend on the threads";
  }
}

TEST_P(Triangles, FactorAsLapack) {
  check_cholesky<float>();
  check_cholesky<double>();
}

TEST_P(Triangles, TellTheFirstMinorThatIsNotPositive) {
  for (const int64_t n : {5, 100})
    for (int64_t at = 0; at < n; at += 3) {
      std::vector<double> a = positive_definite<double>(n);
      a[static_cast<size_t>(at * n + at)] = at % 2 == 0 ? -1 : 0;
      EXPECT_EQ(factor_cholesky(n, a.data()), at + 1) << n;
    }
}

/// Column-major a with its rows exchanged, less L U, of which `lu` holds both.
template <class T>
double off_by_lu(int64_t n, std::vector<T> a, const std::vector<T>& lu, const std::vector<int64_t>& pivots) {
  const auto at = [n](const std::vector<T>& x, int64_t i, int64_t j) {
    return static_cast<double>(x[static_cast<size_t>(j * n + i)]);
  };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      std::swap(a[static_cast<size_t>(j * n + i)], a[static_cast<size_t>(j * n + pivots[static_cast<size_t>(i)] - 1)]);
  double worst = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = i <= j ? at(lu, i, j) : 0;
      for (int64_t k = 0; k < std::min(i, j + 1); ++k) sum += at(lu, i, k) * at(lu, k, j);
      const double off = std::abs(sum - at(a, i, j));
      worst = off <= worst ? worst : off;  // and NaN
    }
  return worst;
}

template <class T>
void check_lu() {
  using Factor = void(const int*, const int*, T*, const int*, int*, int*);
  for (const int64_t n : {1, 8, 16, 17, 32, 33, 50, 96, 300}) {
    const std::vector<T> a = random_values<T>(n * n, 11);
    std::vector<T> lu = a, again = a, wanted = a;
    std::vector<int64_t> pivots(static_cast<size_t>(n)), again_pivots = pivots;
    std::vector<int> wanted_pivots(pivots.size());
    kernels::set_num_threads(1);
    EXPECT_EQ(factor_lu(n, lu.data(), pivots.data()), 0);
    EXPECT_LE(off_by_lu(n, a, lu, pivots), kClose<T> * static_cast<double>(n)) << n;
    const int size = static_cast<int>(n);
    int info = 0;
    {
      const kernels::OneBlasThread alone;
      lapack<Factor>("sgetrf_", "dgetrf_", sizeof(T) == sizeof(float))(&size, &size, wanted.data(), &size,
                                                                       wanted_pivots.data(), &info);
    }
    EXPECT_EQ(pivots, std::vector<int64_t>(wanted_pivots.begin(), wanted_pivots.end())) << n;
    kernels::set_num_threads(3);
    EXPECT_EQ(factor_lu(n, again.data(), again_pivots.data()), 0);
    EXPECT_EQ(pivots, again_pivots) << "pivots depend on the threads";
    EXPECT_EQ(lu, again) << "bits depend on the threads";
  }
}

TEST_P(Triangles, AreThoseOfPivotedMatrices) {
  check_lu<float>();
  check_lu<double>();
}

TEST_P(Triangles, TellTheFirstPivotOfZero) {
  for (const int64_t n : {5, 20, 100})
    for (int64_t at = 0; at < n; at += 3) {
      std::vector<double> a = random_values<double>(n * n, 12);
      std::fill_n(a.begin() + at * n, n, 0.);
      std::vector<int64_t> pivots(static_cast<size_t>(n));
      EXPECT_EQ(factor_lu(n, a.data(), pivots.data()), at + 1) << n;
    }
}

TAPE_EVERY_LEVEL(Triangles);

}  // namespace
}  // namespace tape::linalg
