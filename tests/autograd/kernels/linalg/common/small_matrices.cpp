// Small factorizations against LAPACK's.

#include "autograd/kernels/linalg/common/small_matrices.h"

#include <algorithm>

#include <fmt/format.h>

#include "autograd/kernels/linalg/triangles.h"
#include "autograd/kernels/product/common/blas.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

template <class T>
constexpr double kSmallError = sizeof(T) == sizeof(float) ? 2e-5 : 1e-13;

template <class T, class F>
F* routine(const std::string& name) {
  return reinterpret_cast<F*>(blas_function(((sizeof(T) == sizeof(float) ? "s" : "d") + name + "_").c_str()));
}

template <class T>
void expect_small(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
  double largest = 0;
  for (const T value : wanted) largest = std::max(largest, static_cast<double>(std::abs(value)));
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(static_cast<double>(got[i]), static_cast<double>(wanted[i]), kSmallError<T> * largest)
        << what << " " << i;
}

template <class T>
void check_lu() {
  using Factor = void(const int*, const int*, T*, const int*, int*, int*);
  for (int n = 1; n <= 40; ++n) {
    std::vector<T> a = random_values<T>(n * n, static_cast<unsigned>(n)), wanted = a;
    std::vector<int64_t> pivots(static_cast<size_t>(n));
    std::vector<int> wanted_pivots(pivots.size());
    int info = 0;
    EXPECT_EQ(triangles<T>().lu(n, n, a.data(), n, pivots.data()), 0);
    routine<T, Factor>("getrf")(&n, &n, wanted.data(), &n, wanted_pivots.data(), &info);
    EXPECT_EQ(pivots, std::vector<int64_t>(wanted_pivots.begin(), wanted_pivots.end())) << n;
    expect_small(a, wanted, fmt::format("lu of {}", n));
  }
}

class SmallLu : public EveryLevel {};
TEST_P(SmallLu, IsLapacks) {
  check_lu<float>();
  check_lu<double>();
}
TEST_P(SmallLu, GoesOnBehindAPivotOfZero) {
  std::vector<double> a{0, 0, 0, 1, 2, 3, 4, 5, 7};  // its first column is 0
  int64_t pivots[3];
  EXPECT_EQ(triangles<double>().lu(3, 3, a.data(), 3, pivots), 1);
  EXPECT_EQ(a[0], 0);
  EXPECT_NE(a[8], 0);
}
TAPE_EVERY_LEVEL(SmallLu);

template <class T>
void check_qr(double scale) {
  using Factor = void(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
  using Gather = void(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
  for (const auto& [m, n, columns] : {std::array{1, 1, 1}, {4, 4, 4}, {7, 3, 3}, {7, 3, 7}, {3, 8, 3}, {16, 16, 16}}) {
    std::vector<T> a = random_values<T>(m * n, 9), q(static_cast<size_t>(m * columns));
    for (T& value : a) value *= static_cast<T>(scale);
    if (n > 1) std::fill_n(a.begin(), m, T(0));  // nothing to reflect
    std::vector<T> wanted = a, wanted_q(q.size()), tau(16), work(1024);
    small_qr<T>(m, n, columns, a.data(), q.data());
    const int k = std::min(m, n), size = 1024;
    int info = 0;
    routine<T, Factor>("geqrf")(&m, &n, wanted.data(), &m, tau.data(), work.data(), &size, &info);
    std::copy_n(wanted.begin(), m * k, wanted_q.begin());
    routine<T, Gather>("orgqr")(&m, &columns, &k, wanted_q.data(), &m, tau.data(), work.data(), &size, &info);
    for (int j = 0; j < n; ++j)
      for (int i = j + 1; i < m; ++i) a[static_cast<size_t>(j * m + i)] = wanted[static_cast<size_t>(j * m + i)] = 0;
    expect_small(a, wanted, fmt::format("r of {} x {}", m, n));
    expect_small(q, wanted_q, fmt::format("q of {} x {}, {} columns", m, n, columns));
  }
}
TEST(SmallMatrices, QrIsLapacks) {
  check_qr<float>(1);
  check_qr<double>(1);
  check_qr<double>(1e-170);  // whose squares are no numbers
  check_qr<double>(1e170);
}

}  // namespace
}  // namespace tape::kernels::testing
