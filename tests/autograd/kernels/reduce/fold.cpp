#include "autograd/kernels/reduce/fold.h"

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class FoldTable : public EveryLevel {};

struct Extent {
  int64_t outer, size, inner;
};
const Extent kExtents[] = {{1, 0, 1}, {3, 1, 1}, {2, 37, 1}, {1, 70001, 1}, {2, 19, 5}, {1, 300, 270}, {1, 40000, 3}};

/// Folds fold(accumulator, value) along the middle axis, from `start`.
template <class T, class Fold>
std::vector<double> folded(const Extent& e, const std::vector<T>& x, double start, const Fold& fold) {
  std::vector<double> y(static_cast<size_t>(e.outer * e.inner), start);
  for (int64_t i = 0; i < e.outer * e.size * e.inner; ++i) {
    double& to = y[static_cast<size_t>(i / (e.size * e.inner) * e.inner + i % e.inner)];
    to = fold(to, static_cast<double>(x[static_cast<size_t>(i)]));
  }
  return y;
}

template <class T>
void check_sums() {
  const FoldKernels<T>& table = fold_axis<T>();
  for (const Extent& e : kExtents) {
    std::vector<T> x = random_values<T>(e.outer * e.size * e.inner, 4), y(static_cast<size_t>(e.outer * e.inner));
    const double bound = tolerance<T>(2e-6, 1e-13) * static_cast<double>(1 + e.size) / 8;
    table.sum_of_abs(e.outer, e.size, e.inner, x.data(), y.data());
    expect_close(y, folded(e, x, 0, [](double sum, double v) { return sum + std::abs(v); }), bound, "sizes");
    table.sum_of_squares(e.outer, e.size, e.inner, x.data(), y.data());
    expect_close(y, folded(e, x, 0, [](double sum, double v) { return sum + v * v; }), bound, "squares");
    const std::vector<T> centre(y.size(), T(0.5));
    table.sum_of_squared_deviations(e.outer, e.size, e.inner, x.data(), centre.data(), y.data());
    expect_close(y, folded(e, x, 0, [](double sum, double v) { return sum + (v - 0.5) * (v - 0.5); }), bound, "around");
    table.sum_of_abs_powers(e.outer, e.size, e.inner, x.data(), T(1.5), y.data());
    expect_close(y, folded(e, x, 0, [](double sum, double v) { return sum + std::pow(std::abs(v), 1.5); }), bound,
                 "powers");
    for (size_t i = 0; i < x.size(); i += 3) x[i] = static_cast<T>(std::nan(""));
    table.nansum(e.outer, e.size, e.inner, x.data(), y.data());
    expect_close(y, folded(e, x, 0, [](double sum, double v) { return std::isnan(v) ? sum : sum + v; }), bound,
                 "numbers");
  }
}
TEST_P(FoldTable, SumsOfTermsAgreeWithLoops) {
  check_sums<float>();
  check_sums<double>();
}

template <class T>
void check_products() {
  const FoldKernels<T>& table = fold_axis<T>();
  for (const Extent& e : kExtents) {
    std::vector<T> x = random_values<T>(e.outer * e.size * e.inner, 5, 0.99, 1.01);
    std::vector<T> y(static_cast<size_t>(e.outer * e.inner)), dy = random_values<T>(e.outer * e.inner, 6), dx(x.size());
    const double bound = tolerance<T>(1e-6, 1e-14) * static_cast<double>(1 + e.size);
    for (const int zeros : {0, 1, 2}) {
      if (zeros > e.size) break;
      // The first values of the first line.
      for (int z = 0; z < zeros; ++z) x[static_cast<size_t>(z * e.inner)] = 0;
      table.product(e.outer, e.size, e.inner, x.data(), y.data());
      expect_close(y, folded(e, x, 1, [](double product, double v) { return product * v; }), bound, "product");
      table.product_backward(e.outer, e.size, e.inner, x.data(), dy.data(), dx.data());
      std::vector<T> without = x, others(y.size());
      for (const int64_t s : {int64_t{0}, e.size - 1}) {
        const size_t at = static_cast<size_t>(s * e.inner);
        if (e.size == 0) break;
        without[at] = 1;
        table.product(e.outer, e.size, e.inner, without.data(), others.data());
        EXPECT_NEAR(static_cast<double>(dx[at]), static_cast<double>(dy[0] * others[0]), bound) << zeros << " zeros";
        without[at] = x[at];
      }
    }
  }
}
TEST_P(FoldTable, ProductsAndTheirGradientsAgreeWithLoops) {
  check_products<float>();
  check_products<double>();
}

TEST_P(FoldTable, IsBitwiseEqualForAnyThreadCount) {
  const std::vector<float> x = random_values<float>(200000, 7, 0.99, 1.01);
  for (const Extent e : {Extent{1, 200000, 1}, Extent{1, 1000, 200}})
    expect_same_bits([&] {
      std::vector<float> y(static_cast<size_t>(e.inner));
      fold_axis<float>().product(e.outer, e.size, e.inner, x.data(), y.data());
      return y;
    });
}

TAPE_EVERY_LEVEL(FoldTable);

}  // namespace
}  // namespace tape::kernels::testing
