#include "autograd/kernels/norm/softmax.h"

#include <cmath>
#include <limits>
#include <utility>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Softmax : public EveryLevel {};
const int64_t kColumns[] = {1, 2, 4, 7, 8, 9, 12, 15, 16, 17, 31, 32, 64, 65, 1000, 10001};

template <class T>
void check_softmax() {
  for (const int64_t cols : kColumns)
    for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{5}, 70000 / cols}) {
      const std::vector<T> x = random_values<T>(rows * cols, 1, -8, 8), dy = random_values<T>(rows * cols, 2);
      const size_t n = x.size();
      std::vector<T> y(n), log_y(n), dx(n), log_dx(n);
      std::vector<long double> wanted(n), log_wanted(n), wanted_dx(n), log_wanted_dx(n);
      for (int64_t r = 0; r < rows; ++r) {
        const size_t begin = static_cast<size_t>(r * cols), end = begin + static_cast<size_t>(cols);
        long double sum = 0, dot = 0, dy_sum = 0;
        for (size_t i = begin; i < end; ++i) sum += std::exp(static_cast<long double>(x[i]));
        for (size_t i = begin; i < end; ++i) {
          wanted[i] = std::exp(static_cast<long double>(x[i])) / sum;
          log_wanted[i] = static_cast<long double>(x[i]) - std::log(sum);
          dot += wanted[i] * static_cast<long double>(dy[i]);
          dy_sum += static_cast<long double>(dy[i]);
        }
        for (size_t i = begin; i < end; ++i) {
          wanted_dx[i] = wanted[i] * (static_cast<long double>(dy[i]) - dot);
          log_wanted_dx[i] = static_cast<long double>(dy[i]) - wanted[i] * dy_sum;
        }
      }
      const SoftmaxKernels<T>& k = softmax<T>();
      k.softmax(rows, cols, 1, x.data(), y.data());
      k.log_softmax(rows, cols, 1, x.data(), log_y.data());
      k.softmax_backward(rows, cols, 1, y.data(), dy.data(), dx.data());
      k.log_softmax_backward(rows, cols, 1, log_y.data(), dy.data(), log_dx.data());
      const std::string what = std::to_string(rows) + " x " + std::to_string(cols);
      expect_close(y, wanted, tolerance<T>(3e-7, 1e-15), "softmax " + what);
      expect_close(log_y, log_wanted, tolerance<T>(3e-7, 1e-15), "log_softmax " + what);
      expect_close(dx, wanted_dx, tolerance<T>(1e-6, 1e-14), "softmax backward " + what);
      expect_close(log_dx, log_wanted_dx, tolerance<T>(1e-5, 1e-12), "log_softmax backward " + what);
    }
}
TEST_P(Softmax, ForwardAndBackwardMatchTheirFormulas) {
  check_softmax<float>();
  check_softmax<double>();
}

template <class T>
void check_special_rows() {
  const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  for (const int64_t cols : {3, 16, 40}) {
    const size_t n = static_cast<size_t>(cols);
    std::vector<T> hidden(n, -infinity), one = hidden, broken(n, T(1)), only_nan(n, nan), y(n);
    one[1] = T(5);
    broken[2] = nan;
    const SoftmaxKernels<T>& k = softmax<T>();
    k.softmax(1, cols, 1, hidden.data(), y.data());
    EXPECT_EQ(y, std::vector<T>(n, T(0)));
    k.log_softmax(1, cols, 1, hidden.data(), y.data());
    EXPECT_EQ(y, hidden);
    k.softmax(1, cols, 1, one.data(), y.data());
    for (size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], i == 1 ? T(1) : T(0));
    for (const std::vector<T>* row : {&broken, &only_nan}) {
      k.softmax(1, cols, 1, row->data(), y.data());
      for (const T v : y) EXPECT_TRUE(std::isnan(v));
      k.log_softmax(1, cols, 1, row->data(), y.data());
      for (const T v : y) EXPECT_TRUE(std::isnan(v));
    }
    std::vector<T> large(n, T(1e30));
    k.softmax(1, cols, 1, large.data(), y.data());
    for (const T v : y) EXPECT_NEAR(static_cast<double>(v), 1.0 / static_cast<double>(cols), 1e-7);
  }
}
TEST_P(Softmax, MaskedRowsAreZeroAndNaNPropagates) {
  check_special_rows<float>();
  check_special_rows<double>();
}

TEST_P(Softmax, IsBitwiseEqualInPlaceAndForAnyThreadCount) {
  const std::vector<float> x = random_values<float>(1000 * 77, 3, -5, 5);
  std::vector<float> apart(x.size());
  softmax<float>().softmax(1000, 77, 1, x.data(), apart.data());
  expect_same_bits([&] {
    std::vector<float> y = x;
    softmax<float>().softmax(1000, 77, 1, y.data(), y.data());
    EXPECT_EQ(y, apart);
    return y;
  });
}

/// Moves the middle axis of [outer, size, inner] to the end, and back.
template <class T>
std::vector<T> with_middle_axis_moved(const std::vector<T>& x, int64_t outer, int64_t size, int64_t inner, bool back) {
  std::vector<T> y(x.size());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < size; ++i)
      for (int64_t c = 0; c < inner; ++c) {
        const auto apart = static_cast<size_t>((o * size + i) * inner + c),
                   row = static_cast<size_t>((o * inner + c) * size + i);
        y[back ? apart : row] = x[back ? row : apart];
      }
  return y;
}

template <class T>
void check_other_axes() {
  const SoftmaxKernels<T>& k = softmax<T>();
  for (const int64_t inner : {2, 3, 8, 16, 17, 100})
    for (const int64_t size : {0, 1, 5, 64, 130})
      for (const int64_t outer : {0, 1, 3}) {
        std::vector<T> x = random_values<T>(outer * size * inner, 1, -8, 8);
        const std::vector<T> dy = random_values<T>(outer * size * inner, 2);
        // A line of only -inf.
        for (int64_t i = 0; outer > 0 && i < size; ++i) x[static_cast<size_t>(i * inner)] = static_cast<T>(-INFINITY);
        const auto rows = [&](const std::vector<T>& values) {
          return with_middle_axis_moved(values, outer, size, inner, false);
        };
        using Forward = void (*)(int64_t, int64_t, int64_t, const T*, T*);
        using Backward = void (*)(int64_t, int64_t, int64_t, const T*, const T*, T*);
        for (const auto& [forward, backward] : {std::pair<Forward, Backward>{k.softmax, k.softmax_backward},
                                                std::pair<Forward, Backward>{k.log_softmax, k.log_softmax_backward}}) {
          std::vector<T> y(x.size()), dx(x.size()), of_rows(x.size());
          const auto expect_same = [&](const std::vector<T>& got, double error) {
            const std::vector<T> wanted = with_middle_axis_moved(of_rows, outer, size, inner, true);
            for (size_t i = 0; i < got.size(); ++i)
              if (got[i] != wanted[i]) {
                ASSERT_NEAR(static_cast<double>(got[i]), static_cast<double>(wanted[i]), error)
                    << outer << " x " << size << " x " << inner << ", " << i;
              }
          };
          forward(outer, size, inner, x.data(), y.data());
          forward(outer * inner, size, 1, rows(x).data(), of_rows.data());
          expect_same(y, tolerance<T>(2e-6, 1e-14));
          backward(outer, size, inner, y.data(), dy.data(), dx.data());
          backward(outer * inner, size, 1, rows(y).data(), rows(dy).data(), of_rows.data());
          expect_same(dx, tolerance<T>(1e-5, 1e-13));
        }
      }
}
TEST_P(Softmax, AnyAxisAgreesWithThatAxisMovedLast) {
  check_other_axes<float>();
  check_other_axes<double>();
}

template <class T>
void check_nan_along_columns() {
  std::vector<T> x(3 * 5, T(1)), y(x.size());
  x[7] = std::numeric_limits<T>::quiet_NaN();
  for (const auto forward : {softmax<T>().softmax, softmax<T>().log_softmax}) {
    forward(1, 3, 5, x.data(), y.data());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % 5 == 2) << i;
  }
}
TEST_P(Softmax, NaNSpreadsOverItsLineAlongAnyAxis) {
  check_nan_along_columns<float>();
  check_nan_along_columns<double>();
}

TAPE_EVERY_LEVEL(Softmax);

}  // namespace
}  // namespace tape::kernels::testing
