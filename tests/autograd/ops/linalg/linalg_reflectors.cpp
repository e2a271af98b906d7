// QR in blocks against LAPACK's, at every level and on several threads.

#include <algorithm>

#include "autograd/ops/linalg/reflectors.h"

#include <fmt/format.h>

#include "autograd/kernels/linalg/reflectors.h"
#include "autograd/kernels/product/common/blas.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::linalg {
namespace {

using kernels::testing::random_values;

class Reflectors : public kernels::testing::EveryLevel {};

template <class T>
constexpr double kReflected = sizeof(T) == sizeof(float) ? 2e-5 : 1e-13;

template <class T, class F>
F* lapack_routine(const std::string& name) {
  return reinterpret_cast<F*>(kernels::blas_function(((sizeof(T) == sizeof(float) ? "s" : "d") + name + "_").c_str()));
}

template <class T>
void expect_close(const std::vector<T>& got, const std::vector<T>& wanted, const std::string& what) {
  double largest = 0, off = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, static_cast<double>(std::abs(wanted[i])));
    const double difference = static_cast<double>(std::abs(got[i] - wanted[i]));
    off = difference <= off ? off : difference;  // and NaN
  }
  EXPECT_LE(off, kReflected<T> * largest) << what;
}

/// LAPACK's factors, R's zeros filled in, and Q; `a` and `q` as qr_in_blocks() takes them.
template <class T>
void lapack_qr(int m, int n, int columns, std::vector<T>& a, std::vector<T>& q) {
  using Factor = void(const int*, const int*, T*, const int*, T*, T*, const int*, int*);
  using Gather = void(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
  const int k = std::min(m, n), size = 64 * (m + n);
  std::vector<T> tau(static_cast<size_t>(k)), work(static_cast<size_t>(size));
  int info = 0;
  const kernels::OneBlasThread alone;
  lapack_routine<T, Factor>("geqrf")(&m, &n, a.data(), &m, tau.data(), work.data(), &size, &info);
  std::copy_n(a.begin(), m * k, q.begin());
  lapack_routine<T, Gather>("orgqr")(&m, &columns, &k, q.data(), &m, tau.data(), work.data(), &size, &info);
}

template <class T>
std::vector<T> upper_columns(int64_t m, std::vector<T> a) {
  for (size_t e = 0; e < a.size(); ++e)
    if (static_cast<int64_t>(e) % m > static_cast<int64_t>(e) / m) a[e] = 0;
  return a;
}

template <class T>
void check_blocked_qr(int m, int n, int columns, double scale) {
  std::vector<T> a = random_values<T>(m * n, 9), q(static_cast<size_t>(m * columns));
  for (T& value : a) value *= static_cast<T>(scale);
  if (n > 40) std::fill_n(a.begin() + 3 * m, m, T(0));  // nothing to reflect
  std::vector<T> wanted = a, wanted_q(q.size()), again = a, again_q(q.size());
  kernels::set_num_threads(1);
  qr_in_blocks<T>(m, n, columns, a.data(), q.data());
  lapack_qr(m, n, columns, wanted, wanted_q);
  const std::string what = fmt::format("{} x {}, {} columns of Q, times {}", m, n, columns, scale);
  expect_close(upper_columns(m, a), upper_columns(m, wanted), "R of " + what);
  expect_close(q, wanted_q, "Q of " + what);
  kernels::set_num_threads(3);
  qr_in_blocks<T>(m, n, columns, again.data(), again_q.data());
  EXPECT_TRUE(a == again && q == again_q) << "bits depend on the threads: " << what;
}

TEST_P(Reflectors, QrIsLapacks) {
  for (const auto& [m, n, columns] : {std::array{1, 1, 1},
                                      {17, 17, 17},
                                      {33, 5, 5},
                                      {5, 33, 5},
                                      {64, 64, 64},
                                      {70, 33, 70},
                                      {100, 200, 100},
                                      {200, 130, 130},
                                      {200, 200, 200}}) {
    check_blocked_qr<float>(m, n, columns, 1);
    check_blocked_qr<double>(m, n, columns, 1);
  }
  check_blocked_qr<float>(40, 35, 40, 1e-22);  // whose squares are no numbers
  check_blocked_qr<float>(40, 35, 40, 1e22);
  check_blocked_qr<double>(40, 35, 40, 1e170);
}

TEST_P(Reflectors, OfARowWithoutATailAreNone) {
  std::vector<double> x{-3, 0, 0, 1, 2, 2}, tau(2);
  kernels::reflectors<double>().factor(2, 3, x.data(), 3, tau.data());
  EXPECT_EQ(tau[0], 0);
  EXPECT_EQ(x[0], -3);
  EXPECT_EQ(x[3], 1);
  EXPECT_NEAR(x[4], -std::sqrt(8.), 1e-15);
}

TAPE_EVERY_LEVEL(Reflectors);

}  // namespace
}  // namespace tape::linalg
