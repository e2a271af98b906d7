// Spectra with vectors against LAPACK's own, and in themselves, at every level and on several threads.

#include <algorithm>

#include "autograd/ops/linalg/spectra.h"

#include <fmt/format.h>

#include "autograd/kernels/product/common/blas.h"
#include "autograd/ops/linalg/tridiagonal.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::linalg {
namespace {

using kernels::testing::random_values;

class Spectra : public kernels::testing::EveryLevel {};

template <class T>
constexpr double kSpectral = sizeof(T) == sizeof(float) ? 2e-5 : 1e-13;

template <class T, class F>
F* spectral_routine(const std::string& name) {
  return reinterpret_cast<F*>(kernels::blas_function(((sizeof(T) == sizeof(float) ? "s" : "d") + name + "_").c_str()));
}

/// The largest |Σ_k x[i, k] y[j, k] - wanted(i, j)| for rows of x and y [rows, n].
template <class T, class F>
double off_by(int64_t rows, int64_t n, const std::vector<T>& x, const F& wanted) {
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < rows; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k)
        sum += static_cast<double>(x[static_cast<size_t>(i * n + k)]) *
               static_cast<double>(x[static_cast<size_t>(j * n + k)]);
      const double difference = std::abs(sum - wanted(i, j));
      worst = difference <= worst ? worst : difference;  // and NaN
    }
  return worst;
}

constexpr auto kIdentity = [](int64_t i, int64_t j) { return i == j ? 1. : 0.; };

template <class T>
void expect_values(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
  double largest = 0;
  for (const T value : wanted) largest = std::max(largest, static_cast<double>(std::abs(value)));
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(static_cast<double>(got[i]), static_cast<double>(wanted[i]), kSpectral<T> * largest)
        << what << " " << i;
}

template <class T>
void check_symmetric_spectrum(int n, double scale) {
  using Whole = void(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, int*, const int*, int*,
                     size_t, size_t);
  std::vector<T> a = random_values<T>(n * n, 6, -scale, scale);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) a[static_cast<size_t>(i * n + j)] = a[static_cast<size_t>(j * n + i)];
  std::vector<T> own = a, again = a, whole = a, w(static_cast<size_t>(n)), v(a.size()), again_w = w, again_v = v,
                 wanted = w, work(static_cast<size_t>(1 + 6 * n + 2 * n * n));
  std::vector<int> integers(static_cast<size_t>(3 + 5 * n));
  const std::string what = fmt::format("{} x {} up to {}", n, n, scale);
  kernels::set_num_threads(1);
  EXPECT_EQ(symmetric_spectrum<T>(n, own.data(), w.data(), v.data(), SpectrumValues::beside_vectors), 0) << what;
  const int size = static_cast<int>(work.size()), count = static_cast<int>(integers.size());
  int info = 0;
  {
    const kernels::OneBlasThread alone;
    spectral_routine<T, Whole>("syevd")("V", "L", &n, whole.data(), &n, wanted.data(), work.data(), &size,
                                        integers.data(), &count, &info, 1, 1);
  }
  EXPECT_EQ(info, 0);
  expect_values(w, wanted, what);
  EXPECT_LE(off_by(n, n, v, kIdentity), kSpectral<T>) << what;
  // Σ_k λ_k v_k v_kᵀ, in units of the scale
  std::vector<double> turned(a.size());
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        turned[static_cast<size_t>(i * n + j)] += static_cast<double>(w[static_cast<size_t>(k)]) / scale *
                                                  static_cast<double>(v[static_cast<size_t>(k * n + i)]) *
                                                  static_cast<double>(v[static_cast<size_t>(k * n + j)]);
  for (size_t e = 0; e < a.size(); ++e)
    ASSERT_NEAR(turned[e], static_cast<double>(a[e]) / scale, kSpectral<T> * n) << what << " " << e;
  kernels::set_num_threads(3);
  symmetric_spectrum<T>(n, again.data(), again_w.data(), again_v.data(), SpectrumValues::beside_vectors);
  EXPECT_TRUE(w == again_w && v == again_v) << "bits depend on the threads: " << what;
}

TEST_P(Spectra, OfSymmetricMatricesAreLapacks) {
  for (const int n : {1, 2, 3, 8, 9, 10, 17, 33, 64, 100, 200}) {
    check_symmetric_spectrum<float>(n, 1);
    check_symmetric_spectrum<double>(n, 1);
  }
  check_symmetric_spectrum<float>(40, 1e-30);  // whose squares are no numbers
  check_symmetric_spectrum<float>(40, 1e30);
  check_symmetric_spectrum<double>(40, 1e200);
}

template <class T>
void check_singular_spectrum(int m, int n, int columns, double scale) {
  using Whole = void(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,
                     const int*, int*, int*, size_t);
  const std::vector<T> a = random_values<T>(m * n, 6, -scale, scale);
  std::vector<T> own = a, again = a, whole = a, s(static_cast<size_t>(n)), u(static_cast<size_t>(columns * m)),
                 v(static_cast<size_t>(n * n)), again_s = s, again_u = u, again_v = v, wanted = s,
                 work(static_cast<size_t>(64 * (m + n)));
  std::vector<int> integers(static_cast<size_t>(8 * n));
  const std::string what = fmt::format("{} x {}, {} columns of U, up to {}", m, n, columns, scale);
  kernels::set_num_threads(1);
  EXPECT_EQ(
      singular_spectrum<T>(m, n, columns, own.data(), s.data(), u.data(), v.data(), SpectrumValues::beside_vectors), 0)
      << what;
  const int size = static_cast<int>(work.size()), one = 1;
  int info = 0;
  {
    const kernels::OneBlasThread alone;
    spectral_routine<T, Whole>("gesdd")("N", &m, &n, whole.data(), &m, wanted.data(), nullptr, &one, nullptr, &one,
                                        work.data(), &size, integers.data(), &info, 1);
  }
  EXPECT_EQ(info, 0);
  expect_values(s, wanted, what);
  EXPECT_LE(off_by(columns, m, u, kIdentity), kSpectral<T>) << what;
  EXPECT_LE(off_by(n, n, v, kIdentity), kSpectral<T>) << what;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int k = 0; k < n; ++k)
        sum += static_cast<double>(u[static_cast<size_t>(k * m + i)]) * static_cast<double>(s[static_cast<size_t>(k)]) /
               scale * static_cast<double>(v[static_cast<size_t>(k * n + j)]);
      ASSERT_NEAR(sum, static_cast<double>(a[static_cast<size_t>(j * m + i)]) / scale, kSpectral<T> * n) << what;
    }
  kernels::set_num_threads(3);
  singular_spectrum<T>(m, n, columns, again.data(), again_s.data(), again_u.data(), again_v.data(),
                       SpectrumValues::beside_vectors);
  EXPECT_TRUE(s == again_s && u == again_u && v == again_v) << "bits depend on the threads: " << what;
}

TEST_P(Spectra, OfRectanglesAreLapacks) {
  for (const auto& [m, n, columns] : {std::array{1, 1, 1},
                                      {2, 2, 2},
                                      {5, 1, 5},
                                      {20, 17, 17},
                                      {20, 17, 20},
                                      {90, 64, 64},
                                      {90, 70, 90},
                                      {90, 40, 40},
                                      {90, 40, 90},
                                      {100, 100, 100}}) {
    check_singular_spectrum<float>(m, n, columns, 1);
    check_singular_spectrum<double>(m, n, columns, 1);
  }
  check_singular_spectrum<float>(40, 35, 40, 1e-30);  // whose squares are no numbers
  check_singular_spectrum<float>(40, 35, 40, 1e30);
  check_singular_spectrum<double>(90, 40, 40, 1e200);
}

template <class T>
void check_values_alone(int m, int n) {
  const std::vector<T> a = random_values<T>(m * n, 6);
  std::vector<T> own = a, s(static_cast<size_t>(n)), alone = s, u(static_cast<size_t>(n * m)),
                 v(static_cast<size_t>(n * n));
  EXPECT_EQ(singular_spectrum<T>(m, n, n, own.data(), s.data(), u.data(), v.data(), SpectrumValues::alone), 0);
  own = a;
  EXPECT_EQ(singular_spectrum<T>(m, n, n, own.data(), alone.data(), nullptr, nullptr, SpectrumValues::alone), 0);
  EXPECT_EQ(s, alone) << m << " x " << n;
  EXPECT_LE(off_by(n, m, u, kIdentity), kSpectral<T>);
  if (m != n) return;
  own = a;
  EXPECT_EQ(symmetric_spectrum<T>(n, own.data(), s.data(), v.data(), SpectrumValues::alone), 0);
  own = a;
  EXPECT_EQ(symmetric_spectrum<T>(n, own.data(), alone.data(), nullptr, SpectrumValues::alone), 0);
  EXPECT_EQ(s, alone) << n;
  EXPECT_LE(off_by(n, n, v, kIdentity), kSpectral<T>);
}

TEST_P(Spectra, ValuesHaveTheBitsOfThoseAlone) {
  for (const auto& [m, n] : {std::pair{9, 9}, {40, 40}, {40, 35}, {90, 40}, {150, 150}}) {
    check_values_alone<float>(m, n);
    check_values_alone<double>(m, n);
  }
}

/// V is orthonormal and Vᵀ B V diagonal for a tridiagonal B, with LAPACK's values.
template <class T>
void check_tridiagonal(const std::string& what, const std::vector<T>& diagonal, const std::vector<T>& beside) {
  using Alone = void(const int*, T*, T*, int*);
  const int n = static_cast<int>(diagonal.size());
  std::vector<T> w = diagonal, off = beside, v(static_cast<size_t>(n * n)), wanted = diagonal, rest = beside;
  kernels::set_num_threads(1);
  EXPECT_EQ(tridiagonal_spectrum<T>(n, w.data(), off.data(), v.data()), 0) << what;
  int info = 0;
  spectral_routine<T, Alone>("sterf")(&n, wanted.data(), rest.data(), &info);
  expect_values(w, wanted, what);
  EXPECT_LE(off_by(n, n, v, kIdentity), kSpectral<T>) << what;
  const double unit =
      std::max({1e-30, std::abs(static_cast<double>(wanted[0])), std::abs(static_cast<double>(wanted.back()))});
  double worst = 0;
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < n; ++i) {
      const auto at = [&](int j) {
        return j < 0 || j >= n ? 0. : static_cast<double>(v[static_cast<size_t>(k * n + j)]);
      };
      const auto value = [](const std::vector<T>& x, int j) {
        return j < 0 || j >= static_cast<int>(x.size()) ? 0. : static_cast<double>(x[static_cast<size_t>(j)]);
      };
      const double residual = value(beside, i - 1) * at(i - 1) + value(diagonal, i) * at(i) +
                              value(beside, i) * at(i + 1) - value(w, k) * at(i);
      worst = std::abs(residual) / unit <= worst ? worst : std::abs(residual) / unit;
    }
  EXPECT_LE(worst, kSpectral<T>) << what;
  std::vector<T> again = diagonal, again_off = beside, again_v(v.size());
  kernels::set_num_threads(3);
  tridiagonal_spectrum<T>(n, again.data(), again_off.data(), again_v.data());
  EXPECT_TRUE(w == again && v == again_v) << "bits depend on the threads: " << what;
}

template <class T>
void check_tridiagonals() {
  for (const int n : {65, 140}) {
    const auto count = static_cast<size_t>(n);
    const std::vector<T> random = random_values<T>(n, 1), other = random_values<T>(n - 1, 2), ones(count, T(1)),
                         zeros(count - 1, T(0));
    std::vector<T> rising(count), glued(count - 1, T(1)), small(other);
    for (int i = 0; i < n; ++i) rising[static_cast<size_t>(i)] = static_cast<T>(std::abs(i - n / 2));
    for (int i = 7; i < n - 1; i += 8) glued[static_cast<size_t>(i)] = T(1e-5);
    for (T& value : small) value *= T(1e-7);
    check_tridiagonal<T>(fmt::format("random {}", n), random, other);
    check_tridiagonal<T>(fmt::format("identity {}", n), ones, zeros);
    check_tridiagonal<T>(fmt::format("zero {}", n), std::vector<T>(count, T(0)), zeros);
    check_tridiagonal<T>(fmt::format("ones beside ones {}", n), ones, std::vector<T>(count - 1, T(1)));
    check_tridiagonal<T>(fmt::format("Wilkinson's {}", n), rising, std::vector<T>(count - 1, T(1)));
    check_tridiagonal<T>(fmt::format("glued, with many equal values {}", n), ones, glued);
    check_tridiagonal<T>(fmt::format("little beside the diagonal {}", n), random, small);
    check_tridiagonal<T>(fmt::format("negative beside {}", n), random, std::vector<T>(count - 1, T(-0.5)));
  }
}

TEST_P(Spectra, OfTridiagonalMatricesAreLapacks) {
  check_tridiagonals<float>();
  check_tridiagonals<double>();
}

TAPE_EVERY_LEVEL(Spectra);

}  // namespace
}  // namespace tape::linalg
