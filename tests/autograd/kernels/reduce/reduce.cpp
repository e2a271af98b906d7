#include "autograd/kernels/reduce/reduce.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tests/autograd/kernels/levels.h"
#include "tests/autograd/kernels/middle_axis.h"

namespace tape::kernels::testing {
namespace {

class Reduce : public EveryLevel {};

template <class T>
void check_sum() {
  for (const Shape& s : kShapes) {
    const std::vector<T> x = random_values<T>(s.count(), 1);
    std::vector<T> y(static_cast<size_t>(s.outer * s.inner));
    std::vector<long double> wanted;
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t n = 0; n < s.inner; ++n) {
        long double sum = 0;
        for (int64_t i = 0; i < s.size; ++i) sum += static_cast<long double>(x[at(s, o, i, n)]);
        wanted.push_back(sum);
      }
    reduce<T>().sum(s.outer, s.size, s.inner, x.data(), y.data());
    expect_close(y, wanted, spread(s) * tolerance<T>(3e-7, 1e-15), "sum over " + std::to_string(s.size));
  }
}
TEST_P(Reduce, SumMatchesALoop) {
  check_sum<float>();
  check_sum<double>();
}

TEST_P(Reduce, SumOfNothingIsZero) {
  float y[6] = {1, 1, 1, 1, 1, 1};
  reduce<float>().sum(2, 0, 3, nullptr, y);
  for (const float value : y) EXPECT_EQ(value, 0);
}

TEST_P(Reduce, SumOfManyOnesIsExact) {
  const int64_t n = int64_t{1} << 25;
  const std::vector<float> ones(static_cast<size_t>(n), 1);
  float y = 0;
  reduce<float>().sum(1, n, 1, ones.data(), &y);
  EXPECT_EQ(y, static_cast<float>(n));
  std::vector<float> columns(2);
  reduce<float>().sum(1, n / 2, 2, ones.data(), columns.data());
  EXPECT_EQ(columns[0], static_cast<float>(n / 2));
  EXPECT_EQ(columns[1], static_cast<float>(n / 2));
}

template <class T>
void check_best() {
  for (const Shape& s : kShapes) {
    std::vector<T> x = random_values<T>(s.count(), 2);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::round(x[i] * 8);  // many ties
    if (x.size() > 20) x[x.size() / 3] = x[x.size() / 2] = std::numeric_limits<T>::quiet_NaN();
    for (const bool largest : {true, false}) {
      std::vector<T> y(static_cast<size_t>(s.outer * s.inner)), plain(y.size()), wanted;
      std::vector<int64_t> index(y.size()), wanted_index;
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t n = 0; n < s.inner; ++n) {
          int64_t best = 0;
          for (int64_t i = 1; i < s.size; ++i) {
            const T v = x[at(s, o, i, n)], b = x[at(s, o, best, n)];
            if (std::isnan(b)) break;
            if (std::isnan(v) || (largest ? v > b : v < b)) best = i;
          }
          wanted.push_back(x[at(s, o, best, n)]);
          wanted_index.push_back(best);
        }
      const auto run = largest ? reduce<T>().max : reduce<T>().min;
      run(s.outer, s.size, s.inner, x.data(), y.data(), index.data());
      run(s.outer, s.size, s.inner, x.data(), plain.data(), nullptr);
      expect_close(y, wanted, 0, "best");
      expect_close(plain, wanted, 0, "best without index");
      EXPECT_EQ(index, wanted_index);
    }
  }
}
TEST_P(Reduce, MaxAndMinFindTheFirstAndPropagateNaN) {
  check_best<float>();
  check_best<double>();
}

template <class T>
using Parts = std::vector<std::vector<T>>;

template <class T, class Result>
Result over(void (*kernel)(int64_t, const Span<T>*, Result*), const Parts<T>& parts) {
  std::vector<Span<T>> spans;
  for (const std::vector<T>& part : parts) spans.push_back({part.data(), std::ssize(part)});
  Result result;
  kernel(std::ssize(spans), spans.data(), &result);
  return result;
}

template <class T>
void check_whole() {
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{}, {0}, {1}, {17}, {100001}, {5, 0, 40000, 16384, 3}}) {
    Parts<T> parts;
    for (const int64_t n : sizes) parts.push_back(random_values<T>(n, 4));
    long double wanted = 0;
    double alone = 0;
    for (const std::vector<T>& part : parts) {
      for (const T v : part) wanted += static_cast<long double>(v) * static_cast<long double>(v);
      alone += over(reduce<T>().sum_of_squares, Parts<T>{part});
    }
    const double found = over(reduce<T>().sum_of_squares, parts);
    EXPECT_NEAR(found, static_cast<double>(wanted), 1e-12 * (1 + static_cast<double>(wanted)));
    EXPECT_EQ(found, alone);
    EXPECT_EQ(over(reduce<T>().first_not_finite, parts), -1);
    for (const T bad :
         {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
      for (std::vector<T>& part : parts)
        for (const size_t place : {size_t{0}, part.size() / 2, part.size() - 1}) {
          if (part.empty()) continue;
          const T before = std::exchange(part[place], bad);
          EXPECT_EQ(over(reduce<T>().first_not_finite, parts), &part - parts.data()) << bad << " at " << place;
          part[place] = before;
        }
  }
  EXPECT_EQ(over(reduce<T>().first_not_finite, Parts<T>{{std::numeric_limits<T>::max()}}), -1);
}
TEST_P(Reduce, SumOfSquaresAndFirstNotFiniteMatchALoop) {
  check_whole<float>();
  check_whole<double>();
}

TEST_P(Reduce, IsBitwiseEqualForAnyThreadCount) {
  for (const Shape& s : kShapes) {
    const std::vector<float> x = random_values<float>(s.count(), 5);
    expect_same_bits([&] {
      std::vector<float> y(static_cast<size_t>(s.outer * s.inner));
      reduce<float>().sum(s.outer, s.size, s.inner, x.data(), y.data());
      return y;
    });
    expect_same_bits([&] { return std::vector<double>{over(reduce<float>().sum_of_squares, Parts<float>{x, x})}; });
  }
}

TAPE_EVERY_LEVEL(Reduce);

}  // namespace
}  // namespace tape::kernels::testing
