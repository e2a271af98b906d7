// Batches of small matrices, one a lane, have the bits of the kernels that take one matrix, and LAPACK's values.

#include "autograd/kernels/linalg/matrix_lanes.h"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/kernels/linalg/triangles.h"
#include "autograd/kernels/product/common/blas.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Lanes : public EveryLevel {};

/// More than a vector has lanes, and not a multiple of them.
constexpr int64_t kLaneBatch = 37;

/// Symmetric, most of them positive definite; the third is not, nor is the last.
template <class T>
std::vector<T> lane_symmetric(int64_t n) {
  std::vector<T> a = random_values<T>(kLaneBatch * n * n, static_cast<unsigned>(n), -1, 1);
  for (int64_t matrix = 0; matrix < kLaneBatch; ++matrix)
    for (int64_t i = 0; i < n; ++i) {
      T* const own = a.data() + matrix * n * n;
      own[i * n + i] = static_cast<T>(n) + own[i * n + i];
      if ((matrix == 2 && i == n / 2) || (matrix == kLaneBatch - 1 && i == n - 1)) own[i * n + i] = T(-1);
      for (int64_t j = 0; j < i; ++j) own[i * n + j] = own[j * n + i];
    }
  return a;
}

template <class T>
void check_lane_cholesky() {
  for (int64_t n = 1; n <= kMostInLanes; ++n) {
    const std::vector<T> a = lane_symmetric<T>(n);
    std::vector<T> l = a;
    std::vector<int> info(kLaneBatch, 9);
    matrix_lanes<T>().cholesky(kLaneBatch, n, l.data(), info.data());
    for (int64_t matrix = 0; matrix < kLaneBatch; ++matrix) {
      std::vector<T> alone(a.begin() + matrix * n * n, a.begin() + (matrix + 1) * n * n);
      const int64_t order = triangles<T>().cholesky(n, alone.data(), n);
      EXPECT_EQ(info[static_cast<size_t>(matrix)], order) << n << " " << matrix;
      EXPECT_EQ(order == 0, matrix != 2 && matrix != kLaneBatch - 1);
      if (order != 0) continue;
      triangles<T>().fold_down(n, alone.data());
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), l.begin() + matrix * n * n)) << n << " " << matrix;
    }
  }
}

TEST_P(Lanes, CholeskyHasTheBitsOfOneMatrix) {
  check_lane_cholesky<float>();
  check_lane_cholesky<double>();
}

/// Random ones; the second has a column of zeros, the third is of rank 1, the last has two equal candidates for a
/// pivot.
template <class T>
std::vector<T> lane_matrices(int64_t n) {
  std::vector<T> a = random_values<T>(kLaneBatch * n * n, static_cast<unsigned>(n));
  std::fill_n(a.begin() + n * n + n / 2 * n, n, T(0));
  for (int64_t e = 0; e < n * n; ++e) a[static_cast<size_t>(2 * n * n + e)] = static_cast<T>(1 + e / n);
  T* const last = a.data() + (kLaneBatch - 1) * n * n;
  last[0] = T(2);
  last[n - 1] = T(-2);
  return a;
}

template <class T>
bool same_bits(const T* x, const T* y, int64_t n) {
  return std::memcmp(x, y, static_cast<size_t>(n) * sizeof(T)) == 0;
}

template <class T>
void check_lane_lu() {
  for (int64_t n = 1; n <= kMostInLanes; ++n) {
    const std::vector<T> a = lane_matrices<T>(n);
    std::vector<T> all = a;
    std::vector<int64_t> pivots(static_cast<size_t>(kLaneBatch * n));
    std::vector<int> info(kLaneBatch, 9);
    matrix_lanes<T>().lu(kLaneBatch, n, all.data(), pivots.data(), info.data());
    for (int64_t matrix = 0; matrix < kLaneBatch; ++matrix) {
      std::vector<T> alone(a.begin() + matrix * n * n, a.begin() + (matrix + 1) * n * n);
      std::vector<int64_t> own(static_cast<size_t>(n));
      EXPECT_EQ(info[static_cast<size_t>(matrix)], triangles<T>().lu(n, n, alone.data(), n, own.data()))
          << n << " " << matrix;
      EXPECT_TRUE(std::equal(own.begin(), own.end(), pivots.begin() + matrix * n)) << n << " " << matrix;
      EXPECT_TRUE(same_bits(alone.data(), all.data() + matrix * n * n, n * n)) << n << " " << matrix;
    }
  }
}

TEST_P(Lanes, LuHasTheBitsOfOneMatrix) {
  check_lane_lu<float>();
  check_lane_lu<double>();
}

/// x = a⁻¹ b or a⁻ᵀ b by the kernels that take one matrix.
template <class T>
std::vector<T> solution_alone(int64_t n, int64_t columns, const T* lu, const int64_t* pivots, bool transposed,
                              std::vector<T> x) {
  const auto exchange = [&](int64_t i) {
    for (int64_t c = 0; c < columns; ++c)
      std::swap(x[static_cast<size_t>(i * columns + c)], x[static_cast<size_t>((pivots[i] - 1) * columns + c)]);
  };
  const auto solve = [&](bool rows, bool upper, bool unit) {
    triangles<T>().solve({lu, n, rows ? n : 1, rows ? 1 : n, upper, unit}, columns, x.data(), columns);
  };
  for (int64_t i = 0; transposed && i < n; ++i) exchange(i);
  solve(!transposed, false, transposed);
  solve(!transposed, true, !transposed);
  for (int64_t i = n - 1; !transposed && i >= 0; --i) exchange(i);
  return x;
}

template <class T>
void check_lane_solutions(bool transposed) {
  for (int64_t n = 1; n <= kMostInLanes; ++n)
    for (const int64_t columns : {int64_t{1}, int64_t{3}, kMostInLanes}) {
      std::vector<T> lu = random_values<T>(kLaneBatch * n * n, static_cast<unsigned>(n));
      std::vector<int64_t> pivots(static_cast<size_t>(kLaneBatch * n)), from(kLaneBatch);
      std::vector<int> info(kLaneBatch);
      matrix_lanes<T>().lu(kLaneBatch, n, lu.data(), pivots.data(), info.data());
      for (int64_t i = 0; i < kLaneBatch; ++i) from[static_cast<size_t>(i)] = i * 5 % kLaneBatch;
      const std::vector<T> b = random_values<T>(kLaneBatch * n * columns, 8);
      std::vector<T> x = b;
      matrix_lanes<T>().lu_solve(kLaneBatch, n, columns, lu.data(), pivots.data(), from.data(), transposed, x.data());
      for (int64_t i = 0; i < kLaneBatch; ++i) {
        const int64_t matrix = from[static_cast<size_t>(i)];
        const std::vector<T> alone =
            solution_alone(n, columns, lu.data() + matrix * n * n, pivots.data() + matrix * n, transposed,
                           {b.begin() + i * n * columns, b.begin() + (i + 1) * n * columns});
        EXPECT_TRUE(same_bits(alone.data(), x.data() + i * n * columns, n * columns))
            << n << " " << columns << " " << i;
      }
    }
}

TEST_P(Lanes, SolutionsHaveTheBitsOfOneMatrix) {
  for (const bool transposed : {false, true}) {
    check_lane_solutions<float>(transposed);
    check_lane_solutions<double>(transposed);
  }
}

template <class T>
void check_lane_singular_values(int64_t rows, int64_t columns, double scale) {
  using Factor = void(const char*, const int*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,
                      const int*, int*, int*, size_t);
  auto* const gesdd = reinterpret_cast<Factor*>(blas_function(sizeof(T) == sizeof(float) ? "sgesdd_" : "dgesdd_"));
  std::vector<T> a = random_values<T>(kLaneBatch * rows * columns, 4);
  std::fill_n(a.begin(), rows * columns, T(0));
  std::fill_n(a.begin() + rows * columns, rows * columns, T(1));  // of rank 1
  for (T& value : a) value *= static_cast<T>(scale);
  std::vector<T> values(static_cast<size_t>(kLaneBatch * columns));
  std::vector<int> info(kLaneBatch, 9);
  matrix_lanes<T>().singular_values(kLaneBatch, rows, columns, a.data(), values.data(), info.data());
  for (int64_t matrix = 0; matrix < kLaneBatch; ++matrix) {
    const int m = static_cast<int>(rows), n = static_cast<int>(columns), size = 4096, one = 1;
    std::vector<T> own(a.begin() + matrix * rows * columns, a.begin() + (matrix + 1) * rows * columns), wanted(8),
        work(size);
    int failed = 0, integers[64];
    gesdd("N", &m, &n, own.data(), &m, wanted.data(), nullptr, &one, nullptr, &one, work.data(), &size, integers,
          &failed, 1);
    EXPECT_EQ(info[static_cast<size_t>(matrix)], 0)
        << fmt::format("{} x {} times {}, matrix {}", rows, columns, scale, matrix);
    const double close = (sizeof(T) == sizeof(float) ? 2e-6 : 4e-15) * static_cast<double>(wanted[0]);
    for (int64_t i = 0; i < columns; ++i)
      EXPECT_NEAR(static_cast<double>(values[static_cast<size_t>(matrix * columns + i)]),
                  static_cast<double>(wanted[static_cast<size_t>(i)]), close)
          << fmt::format("{} x {}, matrix {}", rows, columns, matrix);
  }
}

TEST_P(Lanes, SingularValuesAreLapacks) {
  for (int64_t rows = 1; rows <= kMostInLanes; ++rows)
    for (int64_t columns = 1; columns <= rows; ++columns) {
      check_lane_singular_values<float>(rows, columns, 1);
      check_lane_singular_values<float>(rows, columns, 1e37);  // whose squares are no numbers
      check_lane_singular_values<float>(rows, columns, 1e-30);
      check_lane_singular_values<double>(rows, columns, 1);
    }
}

TEST_P(Lanes, SingularValuesDoNotDependOnTheNeighbours) {
  const std::vector<float> a = random_values<float>(kLaneBatch * 16, 4);
  std::vector<float> all(kLaneBatch * 4), alone(4);
  std::vector<int> info(kLaneBatch);
  matrix_lanes<float>().singular_values(kLaneBatch, 4, 4, a.data(), all.data(), info.data());
  for (int64_t i = 0; i < kLaneBatch; ++i) {
    matrix_lanes<float>().singular_values(1, 4, 4, a.data() + i * 16, alone.data(), info.data());
    EXPECT_TRUE(same_bits(alone.data(), all.data() + i * 4, 4)) << i;
  }
}

TEST_P(Lanes, AMatrixIsSymmetricAndFoldsDown) {
  for (const int64_t n : {1, 2, 3, 4, 5, 7, 8, 16, 19, 20, 21, 36, 65, 130}) {
    std::vector<double> a = random_values<double>(n * n, 3);
    const std::vector<double> before = a;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < i; ++j) a[static_cast<size_t>(i * n + j)] = a[static_cast<size_t>(j * n + i)];
    EXPECT_TRUE(triangles<double>().symmetric(n, a.data())) << n;
    for (int64_t e = 0; e < n * n; ++e) {
      if (e / n == e % n) continue;
      const double own = std::exchange(a[static_cast<size_t>(e)], 9);
      EXPECT_FALSE(triangles<double>().symmetric(n, a.data())) << n << " " << e;
      a[static_cast<size_t>(e)] = own;
    }
    std::vector<double> folded = before;
    triangles<double>().fold_down(n, folded.data());
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j)
        EXPECT_EQ(folded[static_cast<size_t>(i * n + j)], j > i ? 0 : before[static_cast<size_t>(j * n + i)])
            << n << " " << i << " " << j;
  }
}

TAPE_EVERY_LEVEL(Lanes);

}  // namespace
}  // namespace tape::kernels::testing
